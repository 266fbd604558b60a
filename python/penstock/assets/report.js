"use strict";
(() => {
  const root = document.documentElement;

  // --- theme ---------------------------------------------------------------
  const dark = matchMedia("(prefers-color-scheme: dark)");
  document.getElementById("theme").addEventListener("click", () => {
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    draw();
  });
  dark.addEventListener("change", () => draw());

  // --- copy buttons --------------------------------------------------------
  function copied(button) {
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  }
  function copyByHand(text) {
    const area = document.createElement("textarea");
    area.value = text;
    area.style.position = "fixed";
    area.style.opacity = "0";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
  for (const button of document.querySelectorAll("button.copy")) {
    button.addEventListener("click", async () => {
      const text = button.parentElement.querySelector("code").textContent;
      try {
        await navigator.clipboard.writeText(text);
        copied(button);
      } catch {
        if (copyByHand(text)) copied(button);
      }
    });
  }

  // --- timeline ------------------------------------------------------------
  const box = document.getElementById("timeline");
  let draw = () => {};
  if (!box) return;
  const data = JSON.parse(document.getElementById("samples").textContent);
  const canvas = box.querySelector("canvas");
  const readout = document.getElementById("readout");
  const rangeText = box.querySelector(".range");
  const { t, end, rate, wait, held, stages, decisions } = data;
  const first = 0;
  let from = first, to = end, pointer = null, drag = null;
  const least = Math.max((end - first) / 5000, 1e-3);

  const ROW = 13, GAP = 14, AXIS = 22;
  const TRACKS = [
    { name: "elements/s", height: 64, series: rate },
    { name: "consumer waits", height: 36, series: wait, most: 1 },
    { name: "bytes held", height: 36, series: held, bytes: true },
  ].filter((track) => track.series.mean.some((v) => v !== null));

  const style = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const seconds = (v) => {
    if (to - from < 0.05) return `${(v * 1000).toFixed(1)} ms`;
    if (to - from < 20) return `${v.toFixed(2)} s`;
    if (end < 120) return `${v.toFixed(0)} s`;
    const m = Math.floor(v / 60), s = Math.floor(v % 60);
    return `${m}:${String(s).padStart(2, "0")} min`;
  };
  const figure = (v) => {
    for (const [limit, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
      if (Math.abs(v) >= limit) return `${(v / limit).toPrecision(3)} ${unit}`;
    }
    return v === 0 ? "0" : `${Number(v.toPrecision(3))}`;
  };
  const bytes = (v) => figure(v) + (Math.abs(v) < 1e3 ? " B" : "B");
  // One scale for all stages, so that a busy one stands out.
  const busiest = Math.max(1, ...stages.map((s) => s.most));
  const labelWidth = () => (canvas.clientWidth < 560 ? 0 : 150);

  function step(span) {
    const raw = span / 6, power = 10 ** Math.floor(Math.log10(raw));
    for (const m of [1, 2, 5, 10]) if (m * power >= raw) return m * power;
    return raw;
  }

  draw = () => {
    const width = canvas.clientWidth, left = labelWidth();
    // Without room beside the rows, their names stand above them.
    const above = left === 0 ? 13 : 0;
    const top = decisions.length ? 12 : 0;  // ticks for decisions
    let height = AXIS + top;
    for (const track of TRACKS) height += track.height + GAP + above;
    height += stages.length * (ROW + above);
    const ratio = devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const g = canvas.getContext("2d");
    g.scale(ratio, ratio);
    g.clearRect(0, 0, width, height);
    const ink = style("--ink"), soft = style("--soft"), line = style("--line");
    const busy = style("--busy"), mark = style("--mark"), wash = style("--wash");
    g.font = `11px ${style("--mono")}`;
    // On whole pixels: neighbours then meet without a seam.
    const x = (v) =>
      left + Math.round(((v - from) / (to - from)) * (width - left));
    const inside = [];
    for (let i = 0; i < t.length; ++i) {
      const until = i + 1 < t.length ? t[i + 1] : end;
      if (until >= from && t[i] <= to) inside.push(i);
    }
    const edge = (i) => (i + 1 < t.length ? t[i + 1] : end);
    const onPaper = (text, at) => {
      const colour = g.fillStyle;
      g.fillStyle = style("--paper");
      g.fillRect(0, at, Math.min(g.measureText(text).width + 4, width), 12);
      g.fillStyle = colour;
      g.fillText(text, 0, at, width);
    };

    // The grid lies below: it does not strike through names.
    g.textBaseline = "bottom";
    const by = step(to - from);
    for (let v = Math.ceil(from / by) * by; v <= to; v += by) {
      const at = x(v);
      g.fillStyle = line;
      g.fillRect(at, top, 1, height - AXIS - top + 6);
      g.fillStyle = soft;
      const text = seconds(v), w = g.measureText(text).width;
      g.fillText(text, Math.min(Math.max(at - w / 2, left), width - w), height);
    }
    let y = top;
    for (const track of TRACKS) {
      g.fillStyle = soft;
      g.textBaseline = "top";
      let most = track.most || 0;
      if (!track.most) {
        for (const i of inside) most = Math.max(most, track.series.max[i] || 0);
      }
      const limit =
        track.most ? "100 %" : track.bytes ? bytes(most) : figure(most);
      most = most || 1;
      if (left) {
        g.fillText(track.name, 0, y);
        g.fillText(`top ${limit}`, 0, y + 14);
      } else {
        onPaper(`${track.name}, top ${limit}`, y);
        y += above;
      }
      g.save();
      g.beginPath();
      g.rect(left, y, width - left, track.height);
      g.clip();
      const h = (v) => y + track.height - (Math.min(v, most) / most) * track.height;
      for (const i of inside) {
        const a = x(t[i]), b = Math.max(x(edge(i)), a + 1);
        const mean = track.series.mean[i];
        if (mean === null) continue;
        const low = h(track.series.max[i]), high = h(track.series.min[i]);
        g.globalAlpha = 0.25;
        g.fillStyle = track.most ? mark : busy;
        g.fillRect(a, low, b - a, Math.max(high - low, 1));
        g.globalAlpha = track.most || track.bytes ? 0.6 : 1;
        if (track.most || track.bytes) {
          g.fillRect(a, h(mean), b - a, y + track.height - h(mean));
        } else {
          g.fillRect(a, h(mean) - 0.75, b - a, 1.5);
        }
      }
      g.globalAlpha = 1;
      g.restore();
      g.strokeStyle = line;
      g.beginPath();
      g.moveTo(left, y + track.height + 0.5);
      g.lineTo(width, y + track.height + 0.5);
      g.stroke();
      y += track.height + GAP;
    }
    for (const stage of stages) {
      g.fillStyle = stage.limiting ? mark : soft;
      g.textBaseline = "middle";
      if (above) {
        g.textBaseline = "top";
        onPaper(stage.label, y + 1);
        y += above;
      } else {
        let text = stage.label;
        while (text.length > 4 && g.measureText(text).width > left - 8) {
          text = text.slice(0, -2) + "\u2026";
        }
        g.fillText(text, 0, y + ROW / 2);
      }
      g.fillStyle = wash;
      g.fillRect(left, y, width - left, ROW - 2);
      g.fillStyle = stage.limiting ? mark : busy;
      for (const i of inside) {
        const v = stage.busy[i];
        if (!v) continue;
        g.globalAlpha = 0.08 + 0.92 * Math.sqrt(v / busiest);
        const a = Math.max(x(t[i]), left), b = Math.max(x(edge(i)), a + 1);
        g.fillRect(a, y, b - a, ROW - 2);
      }
      g.globalAlpha = 1;
      y += ROW;
    }
    g.fillStyle = ink;
    g.globalAlpha = 0.5;
    for (const d of decisions) {
      if (d.at_s >= from && d.at_s <= to) g.fillRect(x(d.at_s), 0, 1, 7);
    }
    g.globalAlpha = 1;
    if (drag) {
      g.fillStyle = busy;
      g.globalAlpha = 0.15;
      g.fillRect(Math.min(drag.a, drag.b), 0, Math.abs(drag.b - drag.a), height);
      g.globalAlpha = 1;
    } else if (pointer !== null) {
      g.fillStyle = soft;
      g.fillRect(x(pointer), 0, 1, height - AXIS);
    }
    rangeText.textContent = `${seconds(from)} to ${seconds(to)}`;
    box.dataset.from = from;
    box.dataset.to = to;
    box.dataset.drawn = inside.length;
  };

  function zoom(a, b) {
    if (b < a) [a, b] = [b, a];
    const span = Math.max(b - a, least);
    const middle = (a + b) / 2;
    from = Math.max(first, middle - span / 2);
    to = Math.min(end, from + span);
    from = Math.max(first, to - span);
    draw();
  }
  const scale = (by, at = (from + to) / 2) =>
    zoom(at - (at - from) * by, at + (to - at) * by);
  const move = (by) => {
    const span = to - from, d = Math.min(Math.max(by * span, -from), end - to);
    zoom(from + d, to + d);
  };
  const timeAt = (px) => {
    const left = labelWidth();
    const share = (px - left) / (canvas.clientWidth - left);
    return from + Math.min(Math.max(share, 0), 1) * (to - from);
  };

  function tell(v) {
    let i = 0;
    while (i + 1 < t.length && t[i + 1] <= v) ++i;
    const parts = [seconds(v)];
    if (rate.mean[i] !== null) parts.push(`${figure(rate.mean[i])} elements/s`);
    if (wait.mean[i] !== null) {
      parts.push(`consumer waits ${Math.round(100 * wait.mean[i])} %`);
    }
    if (held.mean[i] !== null) parts.push(`${bytes(held.mean[i])} held`);
    const most = stages.filter((s) => s.busy[i]).sort((a, b) => b.busy[i] - a.busy[i]);
    for (const s of most.slice(0, 3)) parts.push(`${s.label} ${s.busy[i]} busy`);
    const near = decisions.filter((d) => Math.abs(d.at_s - v) < (to - from) / 100);
    for (const d of near.slice(0, 2)) parts.push(`${d.stage}: ${d.what}`);
    readout.textContent = parts.join("   ");
  }

  canvas.addEventListener("pointerdown", (e) => {
    if (e.button !== 0 || e.pointerType === "touch") return;
    drag = { a: e.offsetX, b: e.offsetX };
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener("pointermove", (e) => {
    pointer = timeAt(e.offsetX);
    if (drag) drag.b = e.offsetX;
    tell(pointer);
    draw();
  });
  canvas.addEventListener("pointerup", () => {
    if (!drag) return;
    const { a, b } = drag;
    drag = null;
    if (Math.abs(b - a) > 4) zoom(timeAt(a), timeAt(b));
    else draw();
  });
  canvas.addEventListener("pointerleave", () => {
    pointer = null;
    draw();
  });
  canvas.addEventListener("dblclick", () => zoom(first, end));
  canvas.addEventListener("wheel", (e) => {
    if (!e.ctrlKey && !e.metaKey) return;  // a plain wheel scrolls the page
    e.preventDefault();
    scale(e.deltaY > 0 ? 1.25 : 0.8, timeAt(e.offsetX));
  }, { passive: false });
  const ACTIONS = {
    in: () => scale(0.5), out: () => scale(2), left: () => move(-0.3),
    right: () => move(0.3), all: () => zoom(first, end),
  };
  const KEYS = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left",
    ArrowRight: "right", "0": "all" };
  canvas.addEventListener("keydown", (e) => {
    if (!KEYS[e.key]) return;
    e.preventDefault();
    ACTIONS[KEYS[e.key]]();
  });
  for (const button of box.querySelectorAll("button[data-do]")) {
    button.addEventListener("click", ACTIONS[button.dataset.do]);
  }
  // report.html#t=10-20 opens at these seconds.
  const wanted = /^#t=([\d.]+)-([\d.]+)$/.exec(location.hash);
  if (wanted) zoom(Number(wanted[1]), Number(wanted[2]));
  new ResizeObserver(() => draw()).observe(box);
  draw();
})();
