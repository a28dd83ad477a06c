// The replay: one heat map of ToRs x spines for each run, and one time for all of them.
//
// The maps are painted directly: a frame is a lookup of each byte in a table of 256 colours into a picture of one pixel per
// link, scaled without smoothing. That is far below a millisecond for 128 x 64 links.

import { canvasBlob, kFont } from './chart';
import type { FabricFigure, Layer, Variant } from './data';
import { fileName, h, s } from './dom';
import { linkPanel } from './link';
import { channels, colourAt, kRamps } from './ramp';
import { ink, theme, type Theme } from './theme';
import { rawUnit, value } from './units';
import { kPaper, type View, type ViewOptions } from './view';

// Frames per second at normal speed.
const kFps = 10;

/// 256 colours as the pixels of a picture, and what is drawn for a link that is down.
function ramp(layer: Layer, of: Theme): Uint32Array {
  const stops = kRamps[layer.id.endsWith('queue') ? 'queue' : 'use'][of].map(channels);
  const out = new Uint32Array(256);
  const bytes = new Uint8Array(out.buffer);
  for (let i = 0; i < 256; ++i) {
    bytes.set(colourAt(stops, i / 255), i * 4);
    bytes[i * 4 + 3] = 255;
  }
  return out;
}

interface Summary {
  mean: number[];
  most: number[];
}

/// Mean and maximum of each frame over the links that are up, in the layer's unit.
function summarise(variant: Variant, layer: Layer, down: Set<number>): Summary {
  const links = variant.tors * variant.spines;
  const mean: number[] = [];
  const most: number[] = [];
  for (let f = 0; f < variant.times.length; ++f) {
    let sum = 0;
    let top = 0;
    for (let i = 0; i < links; ++i) {
      if (down.has(i)) continue;
      const v = layer.bytes[f * links + i]!;
      sum += v;
      if (v > top) top = v;
    }
    mean.push((sum / Math.max(1, links - down.size) / 255) * layer.max);
    most.push((top / 255) * layer.max);
  }
  return { mean, most };
}

interface Geometry {
  left: number;
  top: number;
  cellW: number;
  cellH: number;
  width: number;
  height: number;
}

const kMargin = { left: 52, right: 10, top: 6, bottom: 40 };

function geometry(variant: Variant, width: number, mostHeight: number): Geometry {
  const room = Math.max(60, width - kMargin.left - kMargin.right);
  const fit = room / variant.spines;
  // Whole pixels where there are enough of them, so that all cells are equal.
  const tall = (mostHeight - kMargin.top - kMargin.bottom) / variant.tors;
  const most = Math.max(1, Math.min(26, tall >= 2 ? Math.floor(tall) : tall));
  const cellW = Math.min(fit >= 2 ? Math.floor(fit) : fit, Math.max(8, Math.round(1.6 * most)));
  const cellH = Math.min(most, Math.max(4, cellW));
  return { left: kMargin.left, top: kMargin.top, cellW, cellH,
           width: kMargin.left + kMargin.right + cellW * variant.spines,
           height: kMargin.top + kMargin.bottom + cellH * variant.tors };
}

/// Numbers along an axis: 0, 8, 16... far enough apart to be read.
function tickStep(count: number, cell: number, room: number): number {
  for (const step of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]) {
    if (step * cell >= room) return step;
  }
  return count;
}

class Panel {
  readonly canvas = h('canvas', { class: 'heat' });
  readonly caption = h('div', { class: 'heat-name' });
  readonly element = h('div', { class: 'heat-panel' }, this.caption, this.canvas);
  readonly down: Set<number>;
  geometry: Geometry;
  private small = document.createElement('canvas');

  constructor(readonly variant: Variant) {
    this.down = new Set(variant.down.map(([tor, spine]) => tor * variant.spines + spine));
    this.geometry = geometry(variant, 600, 400);
  }

  paint(layer: Layer, frame: number, full: number, of: Theme, width: number, mostHeight: number): void {
    const g = geometry(this.variant, width, mostHeight);
    this.geometry = g;
    const ratio = Math.max(1, Math.min(3, window.devicePixelRatio || 1));
    if (this.canvas.width !== Math.round(g.width * ratio) || this.canvas.height !== Math.round(g.height * ratio)) {
      this.canvas.width = Math.round(g.width * ratio);
      this.canvas.height = Math.round(g.height * ratio);
      this.canvas.style.width = `${g.width}px`;
      this.canvas.style.height = `${g.height}px`;
    }
    paintHeat(this.canvas.getContext('2d')!, ratio, 0, 0, g, this.variant, layer, frame, full, of, this.down, this.small);
  }
}

function paintHeat(to: CanvasRenderingContext2D, ratio: number, dx: number, dy: number, g: Geometry, variant: Variant,
                   layer: Layer, frame: number, full: number, of: Theme, down: Set<number>,
                   small: HTMLCanvasElement): void {
  const { tors, spines } = variant;
  const c = ink(of);
  to.setTransform(ratio, 0, 0, ratio, dx * ratio, dy * ratio);
  to.clearRect(0, 0, g.width, g.height);

  small.width = spines;
  small.height = tors;
  const pen = small.getContext('2d')!;
  const image = pen.createImageData(spines, tors);
  const pixels = new Uint32Array(image.data.buffer);
  const colors = ramp(layer, of);
  const links = tors * spines;
  // A colour means the same in every run: bytes are relative to their own layer's maximum.
  const scale = layer.max / full;
  for (let i = 0; i < links; ++i) {
    pixels[i] = colors[Math.min(255, Math.round(layer.bytes[frame * links + i]! * scale))]!;
  }
  pen.putImageData(image, 0, 0);
  to.imageSmoothingEnabled = false;
  to.drawImage(small, g.left, g.top, g.cellW * spines, g.cellH * tors);

  // Gaps between the cells, where they are large enough to spare a pixel.
  if (g.cellW >= 9 && g.cellH >= 9) {
    to.strokeStyle = c.surface;
    to.lineWidth = 1;
    to.beginPath();
    for (let x = 1; x < spines; ++x) {
      to.moveTo(g.left + x * g.cellW, g.top);
      to.lineTo(g.left + x * g.cellW, g.top + g.cellH * tors);
    }
    for (let y = 1; y < tors; ++y) {
      to.moveTo(g.left, g.top + y * g.cellH);
      to.lineTo(g.left + g.cellW * spines, g.top + y * g.cellH);
    }
    to.stroke();
  }

  for (const link of down) {
    const x = g.left + (link % spines) * g.cellW;
    const y = g.top + Math.floor(link / spines) * g.cellH;
    hatch(to, x, y, g.cellW, g.cellH, of);
  }

  to.strokeStyle = c.line;
  to.lineWidth = 1;
  to.strokeRect(g.left - 0.5, g.top - 0.5, g.cellW * spines + 1, g.cellH * tors + 1);
  to.fillStyle = c.muted;
  to.font = `12px ${kFont}`;
  to.textAlign = 'center';
  to.textBaseline = 'top';
  const stepX = tickStep(spines, g.cellW, 26);
  for (let x = 0; x < spines; x += stepX) to.fillText(String(x), g.left + (x + 0.5) * g.cellW, g.top + g.cellH * tors + 5);
  to.fillText('spine', g.left + (spines * g.cellW) / 2, g.top + g.cellH * tors + 22);
  to.textAlign = 'right';
  to.textBaseline = 'middle';
  const stepY = tickStep(tors, g.cellH, 18);
  for (let y = 0; y < tors; y += stepY) to.fillText(String(y), g.left - 6, g.top + (y + 0.5) * g.cellH);
  to.save();
  to.translate(10, g.top + (tors * g.cellH) / 2);
  to.rotate(-Math.PI / 2);
  to.textAlign = 'center';
  to.fillText('ToR', 0, 0);
  to.restore();
}

function hatch(to: CanvasRenderingContext2D, x: number, y: number, w: number, height: number, of: Theme): void {
  to.fillStyle = of === 'dark' ? '#4d5863' : '#b9c0c6';
  to.fillRect(x, y, w, height);
  if (w < 5 || height < 5) return;
  to.save();
  to.beginPath();
  to.rect(x, y, w, height);
  to.clip();
  to.strokeStyle = of === 'dark' ? '#9aa6b1' : '#5f6a73';
  to.lineWidth = 1;
  to.beginPath();
  for (let at = -height; at < w; at += 5) {
    to.moveTo(x + at, y + height);
    to.lineTo(x + at + height, y);
  }
  to.stroke();
  to.restore();
}

function rampCss(layer: Layer, of: Theme): string {
  return `linear-gradient(to right, ${kRamps[layer.id.endsWith('queue') ? 'queue' : 'use'][of].join(', ')})`;
}

/// The frame of `variant` that holds the time `t`: the first that ends at or after it.
function frameAt(variant: Variant, t: number): number {
  let low = 0;
  let high = variant.times.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (variant.times[middle]! < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

const kSideBySide = -1;

export function fabricView(fig: FabricFigure, options: ViewOptions): View {
  const variants = fig.variants.filter((v) => v.times.length > 0 && v.layers.length > 0 && v.tors > 0 && v.spines > 0);
  const panels = variants.map((v) => new Panel(v));
  const summaries = new Map<Layer, Summary>();
  const summaryOf = (v: number, layer: Layer): Summary => {
    let found = summaries.get(layer);
    if (!found) {
      found = summarise(variants[v]!, layer, panels[v]!.down);
      summaries.set(layer, found);
    }
    return found;
  };

  const layers = new Map<string, string>();
  for (const v of variants) for (const l of v.layers) if (!layers.has(l.id)) layers.set(l.id, l.label);

  let chosen = variants.length > 1 && variants.length <= 4 ? kSideBySide : 0;
  let layerId = [...layers.keys()][0] ?? '';
  let ownScale = false;
  let playing = 0;
  let speed = 1;
  let t = 0;

  const shownVariants = (): number[] => (chosen === kSideBySide ? variants.map((_, i) => i) : [chosen])
    .filter((i) => layerOf(i) !== null);
  function layerOf(i: number): Layer | null {
    return variants[i]?.layers.find((l) => l.id === layerId) ?? null;
  }
  /// The run whose frames the slider counts: the one that takes longest of those shown.
  function reference(): number {
    let best = shownVariants()[0] ?? 0;
    for (const i of shownVariants()) {
      const end = (v: number) => variants[v]!.times[variants[v]!.times.length - 1]!;
      if (end(i) > end(best)) best = i;
    }
    return best;
  }
  function fullScale(i: number): number {
    const own = layerOf(i)?.max ?? 1;
    if (ownScale) return own || 1;
    return Math.max(...variants.map((_, v) => layerOf(v)?.max ?? 0)) || 1;
  }

  const slider = h('input', { type: 'range', min: 0, max: 0, step: 1, value: 0, class: 'time-slider', 'aria-label': `Time, ${fig.title}` });
  const clock = h('output', { class: 'clock' });
  const play = h('button', { type: 'button', class: 'tool play' }, 'Play');
  const speedBox = h('select', { 'aria-label': 'Speed of the replay' },
    ...[0.5, 1, 2, 4].map((x) => h('option', { value: x, selected: x === 1 }, `${x}x`)));
  const layerBox = h('select', {}, ...[...layers].map(([id, label]) => h('option', { value: id }, label)));
  const ownBox = h('input', { type: 'checkbox' });
  const ownLabel = h('label', { class: 'check' }, ownBox, 'Own colour scale for each run');
  const legendBox = h('div', { class: 'heat-legend' });
  const maps = h('div', { class: 'heat-maps', role: 'img', 'aria-label': fig.caption || fig.title });
  const sparks = h('div', { class: 'sparks' });
  const tipBox = h('div', { class: 'heat-tip', hidden: true, 'aria-hidden': 'true' });
  const switchName = `${fig.id}-run`;
  const switchBox = h('fieldset', { class: 'switch' }, h('legend', { class: 'sr' }, 'Run shown'),
    ...[...(variants.length > 1 && variants.length <= 4 ? [kSideBySide] : []), ...variants.map((_, i) => i)].map((i) =>
      h('label', {}, h('input', { type: 'radio', name: switchName, value: i, checked: i === chosen,
        change: () => { chosen = i; hold(); layout(); } }),
      h('span', {}, i === kSideBySide ? 'Side by side' : variants[i]!.name))));

  const links = linkPanel(fig, variants);

  const body = h('div', { class: 'fabric' },
    h('div', { class: 'fabric-controls' },
      variants.length > 1 ? switchBox : null,
      h('label', { class: 'field' }, h('span', {}, 'Layer'), layerBox),
      legendBox, ownLabel),
    maps,
    h('div', { class: 'time-row' }, play, h('label', { class: 'field' }, h('span', {}, 'Speed'), speedBox), slider, clock),
    sparks, options.alone ? null : links.row, links.box, tipBox);

  function times(): number[] {
    return variants[reference()]?.times ?? [];
  }
  function frame(): number {
    return variants.length ? frameAt(variants[reference()]!, t) : 0;
  }
  /// Keeps the time where it is when the slider counts another run's frames.
  function hold(): void {
    const all = times();
    t = all[Math.min(all.length - 1, frame())] ?? 0;
  }

  function mapSize(): { width: number; height: number } {
    const n = shownVariants().length;
    const room = Math.max(240, maps.clientWidth || 900);
    const across = Math.max(1, Math.min(n, Math.floor(room / 280)));
    return { width: Math.floor((room - (across - 1) * 16) / across), height: options.alone ? (n > 2 ? 380 : n > 1 ? 300 : 340) : n > 1 ? 420 : 470 };
  }

  function paint(): void {
    const of = theme();
    const size = mapSize();
    for (const i of shownVariants()) {
      const v = variants[i]!;
      const over = t > v.times[v.times.length - 1]!;
      panels[i]!.paint(layerOf(i)!, frameAt(v, t), fullScale(i), of, size.width, size.height);
      panels[i]!.element.classList.toggle('over', over);
      panels[i]!.caption.replaceChildren(h('strong', {}, v.name), over ? ' has ended' : '');
    }
    const all = times();
    const f = frame();
    slider.value = String(f);
    const begin = f > 0 ? all[f - 1]! : 0;
    clock.textContent = value(all[f], 'us');
    clock.title = `Frame ${f + 1} of ${all.length}, from ${value(begin, 'us')} to ${value(all[f], 'us')}`;
    slider.setAttribute('aria-valuetext', `${value(all[f], 'us')}, frame ${f + 1} of ${all.length}`);
    for (const cursor of Array.from(sparks.querySelectorAll('.cursor'))) {
      const svg = cursor.closest('svg')!;
      const x = (t / Number(svg.dataset.end)) * 1000;
      cursor.setAttribute('x1', String(x));
      cursor.setAttribute('x2', String(x));
    }
    for (const [k, i] of shownVariants().entries()) {
      const note = sparks.querySelectorAll('.spark-now')[k];
      const sum = summaryOf(i, layerOf(i)!);
      const at = frameAt(variants[i]!, t);
      const unit = layerOf(i)!.unit;
      if (note) note.textContent = `max ${value(sum.most[at], unit, 3)}, mean ${value(sum.mean[at], unit, 3)}`;
    }
  }

  function layout(): void {
    const of = theme();
    const shown = shownVariants();
    maps.replaceChildren(...shown.map((i) => panels[i]!.element));
    maps.classList.toggle('several', shown.length > 1);
    const all = times();
    slider.max = String(Math.max(0, all.length - 1));
    const first = layerOf(shown[0] ?? 0);
    const scales = new Set(variants.map((_, i) => layerOf(i)?.max ?? null).filter((m) => m !== null));
    ownLabel.hidden = scales.size < 2;
    legendBox.replaceChildren();
    if (first) {
      const same = !ownScale || shown.length === 1;
      const hasDown = shown.some((i) => panels[i]!.down.size > 0);
      legendBox.append(
        h('span', { class: 'layer-name' }, first.label),
        h('span', {}, value(0, first.unit, 3)),
        h('span', { class: 'heat-ramp', style: `background:${rampCss(first, of)}` }),
        h('span', {}, same ? value(fullScale(shown[0]!), first.unit, 3) : "each run's most"));
      if (hasDown) legendBox.append(h('span', { class: 'down-swatch', 'aria-hidden': 'true' }), h('span', {}, 'link down'));
    }
    const end = all[all.length - 1] ?? 1;
    sparks.hidden = options.alone && shown.length > 2;
    sparks.replaceChildren(...shown.map((i) => spark(i, end)));
    paint();
  }

  function spark(i: number, end: number): HTMLElement {
    const layer = layerOf(i)!;
    const v = variants[i]!;
    const sum = summaryOf(i, layer);
    const full = fullScale(i);
    const at = (k: number, values: number[]) => `${((v.times[k]! / end) * 1000).toFixed(1)},${(40 - (values[k]! / full) * 38).toFixed(1)}`;
    const line = (values: number[]) => 'M' + values.map((_, k) => at(k, values)).join('L');
    const svg = s('svg', { class: 'spark', viewBox: '0 0 1000 41', preserveAspectRatio: 'none', 'data-end': end, 'aria-hidden': 'true',
                           click: (e: MouseEvent) => {
                             const box = (e.currentTarget as SVGElement).getBoundingClientRect();
                             t = Math.max(0, Math.min(end, ((e.clientX - box.left) / box.width) * end));
                             paint();
                           } },
      ...fig.spans.filter((one) => one.from < end).map((one) => s('rect', { class: 'spark-span', x: (one.from / end) * 1000, y: 0,
        width: Math.max(1, ((Math.min(one.until ?? end, end) - one.from) / end) * 1000), height: 41 })),
      s('path', { class: 'spark-base', d: 'M0,40H1000' }),
      s('path', { class: 'spark-mean', d: `${line(sum.mean)}L${((v.times[v.times.length - 1]! / end) * 1000).toFixed(1)},40L${((v.times[0]! / end) * 1000).toFixed(1)},40Z` }),
      s('path', { class: 'spark-most', d: line(sum.most) }),
      s('line', { class: 'cursor', x1: 0, x2: 0, y1: 0, y2: 41 }));
    return h('div', { class: 'spark-row' },
      h('div', { class: 'spark-head' }, h('span', { class: 'spark-name' }, v.name),
        h('span', { class: 'spark-key' }, 'max over the links (line) and mean (area): '), h('span', { class: 'spark-now' })), svg);
  }

  function stop(): void {
    if (playing) cancelAnimationFrame(playing);
    playing = 0;
    play.textContent = 'Play';
    play.setAttribute('aria-pressed', 'false');
  }

  play.setAttribute('aria-pressed', 'false');
  play.addEventListener('click', () => {
    if (playing) {
      stop();
      return;
    }
    if (frame() >= times().length - 1) t = times()[0] ?? 0;
    play.textContent = 'Pause';
    play.setAttribute('aria-pressed', 'true');
    let last = performance.now();
    let part = 0;
    const tick = (now: number) => {
      part += ((now - last) / 1000) * kFps * speed;
      last = now;
      const whole = Math.floor(part);
      if (whole > 0) {
        part -= whole;
        const next = Math.min(times().length - 1, frame() + whole);
        t = times()[next] ?? 0;
        paint();
        if (next === times().length - 1) {
          stop();
          return;
        }
      }
      playing = requestAnimationFrame(tick);
    };
    playing = requestAnimationFrame(tick);
  });
  slider.addEventListener('input', () => {
    t = times()[Number(slider.value)] ?? 0;
    paint();
  });
  speedBox.addEventListener('change', () => { speed = Number(speedBox.value); });
  layerBox.addEventListener('change', () => { layerId = layerBox.value; hold(); layout(); });
  ownBox.addEventListener('change', () => { ownScale = ownBox.checked; layout(); });

  for (const [i, panel] of panels.entries()) {
    panel.canvas.addEventListener('pointermove', (e) => {
      const g = panel.geometry;
      const spine = Math.floor((e.offsetX - g.left) / g.cellW);
      const tor = Math.floor((e.offsetY - g.top) / g.cellH);
      const v = panel.variant;
      if (spine < 0 || tor < 0 || spine >= v.spines || tor >= v.tors) {
        tipBox.hidden = true;
        return;
      }
      const layer = layerOf(i);
      if (!layer) return;
      const link = tor * v.spines + spine;
      const byte = layer.bytes[frameAt(v, t) * v.tors * v.spines + link]!;
      tipBox.replaceChildren(h('div', { class: 'tip-head' }, `ToR ${tor}, spine ${spine}`),
        panel.down.has(link) ? 'link down' : `${layer.label}: ${value((byte / 255) * layer.max, layer.unit, 3)}`);
      tipBox.hidden = false;
      const frameBox = body.getBoundingClientRect();
      const x = e.clientX - frameBox.left;
      tipBox.style.top = `${e.clientY - frameBox.top + 14}px`;
      tipBox.style.left = `${Math.max(0, Math.min(x + 12, frameBox.width - tipBox.offsetWidth - 4))}px`;
    });
    panel.canvas.addEventListener('click', (e) => {
      const g = panel.geometry;
      const spine = Math.floor((e.offsetX - g.left) / g.cellW);
      const tor = Math.floor((e.offsetY - g.top) / g.cellH);
      if (spine >= 0 && tor >= 0 && spine < panel.variant.spines && tor < panel.variant.tors) links.open(tor, spine);
    });
    panel.canvas.addEventListener('pointerleave', () => { tipBox.hidden = true; });
  }

  /// The busiest frame: a picture of the start would be an empty one.
  function busiest(): void {
    const i = reference();
    const layer = layerOf(i);
    if (!layer) return;
    const { mean } = summaryOf(i, layer);
    let best = 0;
    mean.forEach((m, k) => { if (m > mean[best]!) best = k; });
    t = variants[i]!.times[best]!;
  }
  if (variants.length) busiest();

  return {
    body,
    tools: [],
    hasData: variants.length > 0,
    remarks: [],
    draw() {
      layout();
      links.draw();
    },
    resize() {
      paint();
      links.resize();
    },
    data() {
      return {
        layer: layerId, time: t, frame: frame(), frames: times().length,
        shown: shownVariants().map((i) => {
          const v = variants[i]!;
          const layer = layerOf(i)!;
          const links = v.tors * v.spines;
          const f = frameAt(v, t);
          return { name: v.name, tors: v.tors, spines: v.spines, frame: f, time: v.times[f], before: v.times[f - 1] ?? 0, max: layer.max, full: fullScale(i),
                   bytes: Array.from(layer.bytes.subarray(f * links, (f + 1) * links)) };
        }),
      };
    },
    shown() {
      const shown = shownVariants();
      const unit = layerOf(shown[0] ?? 0)?.unit ?? '';
      return {
        columns: ['run', 'time (us)', 'ToR', 'spine', `${layers.get(layerId) ?? ''} (${rawUnit(unit)})`],
        count: shown.reduce((sum, i) => sum + variants[i]!.tors * variants[i]!.spines, 0),
        *rows() {
          for (const i of shown) {
            const f = frameAt(variants[i]!, t);
            yield* frameRows(variants[i]!, layerOf(i)!, f, panels[i]!.down);
          }
        },
      };
    },
    all() {
      const shown = shownVariants();
      const unit = layerOf(shown[0] ?? 0)?.unit ?? '';
      return {
        name: fileName(fig.id, layerId),
        table: {
          columns: ['run', 'time (us)', 'ToR', 'spine', `${layers.get(layerId) ?? ''} (${rawUnit(unit)})`],
          count: shown.reduce((sum, i) => sum + variants[i]!.tors * variants[i]!.spines * variants[i]!.times.length, 0),
          *rows() {
            for (const i of shown) {
              for (let f = 0; f < variants[i]!.times.length; ++f) yield* frameRows(variants[i]!, layerOf(i)!, f, panels[i]!.down);
            }
          },
        },
      };
    },
    async png() {
      const shown = shownVariants();
      const width = Math.max(420, Math.floor(960 / shown.length));
      const all = shown.map((i) => geometry(variants[i]!, width, 520));
      const canvas = document.createElement('canvas');
      const ratio = 2;
      const head = 64;
      canvas.width = all.reduce((sum, g) => sum + g.width + 16, 16) * ratio;
      canvas.height = (Math.max(...all.map((g) => g.height)) + head + 12) * ratio;
      const to = canvas.getContext('2d')!;
      to.fillStyle = '#ffffff';
      to.fillRect(0, 0, canvas.width, canvas.height);
      let x = 16;
      for (const [k, i] of shown.entries()) {
        const v = variants[i]!;
        paintHeat(to, ratio, x, head, all[k]!, v, layerOf(i)!, frameAt(v, t), fullScale(i), kPaper, panels[i]!.down,
          document.createElement('canvas'));
        to.setTransform(ratio, 0, 0, ratio, 0, 0);
        to.fillStyle = ink(kPaper).text;
        to.textAlign = 'left';
        to.textBaseline = 'alphabetic';
        to.font = `600 13px ${kFont}`;
        to.fillText(v.name, x + kMargin.left, head - 8, all[k]!.width - kMargin.left);
        x += all[k]!.width + 16;
      }
      const layer = layerOf(shown[0] ?? 0);
      to.font = `600 16px ${kFont}`;
      to.fillText(`${layers.get(layerId) ?? ''} at ${value(t, 'us')}` +
        (layer && !ownScale ? `, darkest = ${value(fullScale(shown[0]!), layer.unit, 3)}` : ''), 16 + 4, 28);
      return canvasBlob(canvas);
    },
    svg: null,
  };
}

function* frameRows(v: Variant, layer: Layer, f: number, down: Set<number>): Iterable<(string | number | null)[]> {
  const links = v.tors * v.spines;
  // A byte has one of 256 values, and no more digits than that are true.
  const values = Array.from({ length: 256 }, (_, byte) => Number(((byte / 255) * layer.max).toPrecision(6)));
  for (let i = 0; i < links; ++i) {
    yield [v.name, v.times[f]!, Math.floor(i / v.spines), i % v.spines,
           down.has(i) ? null : values[layer.bytes[f * links + i]!]!];
  }
}
