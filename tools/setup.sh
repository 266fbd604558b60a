#!/usr/bin/env bash
# usage: tools/setup.sh GROUP...    (build, wheel, lint, fuzz, browser)
# Installs the Debian packages of the groups that are missing and creates .venv.
# With everything in place it only looks, in a few hundredths of a second.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=()
for group in "$@"; do
  case $group in
    build)
      packages+=(g++ make cmake ninja-build ccache python3 python3-dev
        python3-venv libabsl-dev libisal-dev libhwy-dev libjpeg62-turbo-dev
        libspng-dev
        libwebp-dev libgif-dev libgtest-dev libgmock-dev libbenchmark-dev
        libzstd-dev zlib1g-dev libprotozero-dev libsimdjson-dev
        libcurl4-openssl-dev) ;;
    lint) packages+=(clang-16 clang-tidy-16 clang-format-16 git python3-venv) ;;
    wheel) ;;
    browser) packages+=(chromium) ;;  # for the tests of the HTML report
    fuzz) packages+=(clang-16 libclang-rt-16-dev llvm-16) ;;
    *) echo "tools/setup.sh: unknown group '$group'" >&2; exit 2 ;;
  esac
done

installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' \
  "${packages[@]}" 2>/dev/null | sed -n 's/^installed //p' || true)
missing=()
for package in "${packages[@]}"; do
  grep -qxF -e "$package" <<<"$installed" || missing+=("$package")
done

if ((${#missing[@]})); then
  if ((EUID != 0)); then
    echo "These Debian packages are missing; ask an administrator for them:" >&2
    echo "  apt-get install ${missing[*]}" >&2
    exit 1
  fi
  echo "installing: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  install() {
    # The lock may be held by another apt for a while.
    apt-get -o DPkg::Lock::Timeout=300 install -y -q \
      --no-install-recommends "${missing[@]}"
  }
  # The package lists are fetched only when they are absent or too old to serve.
  install >/dev/null 2>&1 || { apt-get update -q && install; }
fi

# The stamp is written last: an interrupted creation starts again.
if [[ ! -e .venv/.created ]]; then
  python3 -m venv --clear .venv
  touch .venv/.created
fi

# requirements GROUP FILE: what FILE lists is in .venv, once for each version of it.
requirements() {
  if ! cmp -s "$2" ".venv/.$1"; then
    .venv/bin/python -m pip install -q --disable-pip-version-check -r "$2"
    cp "$2" ".venv/.$1"
  fi
}
for group in "$@"; do
  case $group in
    build)
      requirements python tools/requirements-python.txt
      # python/ is importable as it is: the build puts the module there.
      .venv/bin/python - <<'EOF'
import pathlib, sysconfig
site = pathlib.Path(sysconfig.get_path("purelib"))
site.joinpath("penstock-dev.pth").write_text(f"{pathlib.Path('python').resolve()}\n")
EOF
      ;;
    lint) requirements lint tools/requirements-lint.txt ;;
    wheel) requirements wheel tools/requirements-wheel.txt ;;
  esac
done
