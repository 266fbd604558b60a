"""The command ``penstock``: look at data and at pipelines.

Exit codes: 0 all is well; 1 something was found (damaged records, a failed
conversion); 2 the command or a file could not be used; 130 interrupted.
``doctor`` ends as the script does. Every command takes ``--json``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from penstock import _errors
from penstock.cli import _bench, _convert, _doctor, _inspect, _top, _verify
from penstock.cli._output import Output, UsageError

_COMMANDS = (_doctor, _top, _inspect, _verify, _convert, _bench)

_DESCRIPTION = """\
Look at training data and at the pipelines that read it.
"""


def parser() -> argparse.ArgumentParser:
    """What the command line understands.

    >>> parser().parse_args(["verify", "a.tfrecord", "--json"]).json
    True
    """
    top = argparse.ArgumentParser(prog="penstock", description=_DESCRIPTION)
    from penstock import __version__

    top.add_argument("--version", action="version", version=f"penstock {__version__}")
    commands = top.add_subparsers(
        dest="command", metavar="COMMAND", required=True, title="commands"
    )
    for module in _COMMANDS:
        sub = commands.add_parser(
            module.NAME,
            help=module.HELP,
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,  # or options of a script would be taken for ours
        )
        module.add_arguments(sub)
        if not any(a.dest == "json" for a in sub._actions):
            sub.add_argument(
                "--json",
                action="store_true",
                help="print one JSON object, nothing else",
            )
        sub.add_argument(
            "--no-color", action="store_true", help="plain text (also: NO_COLOR)"
        )
        sub.set_defaults(run=module.run)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; gives the exit code.

    >>> import contextlib, io
    >>> with contextlib.redirect_stderr(io.StringIO()) as errors:
    ...     code = main(["inspect", "no such file"])
    >>> code, errors.getvalue()
    (2, 'penstock: no such file: No such file or directory\\n')
    """
    try:
        args = parser().parse_args(argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    out = Output(json=args.json, color=not args.no_color)
    try:
        code: int = args.run(args, out)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader has seen enough; nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        out.fail("interrupted")
        return 130
    except UsageError as error:
        out.fail(str(error))
        return 2
    except OSError as error:
        name = error.filename
        shown = name.decode() if isinstance(name, bytes) else name
        out.fail(f"{shown}: {error.strerror}" if shown else str(error))
        return 2
    except _errors.Error as error:
        out.fail(str(error))
        return 2
