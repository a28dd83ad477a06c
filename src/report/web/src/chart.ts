// ECharts, only the parts that are used, and what every chart of the page shares: type, tooltips, pictures to save.

import { BarChart, CustomChart, LineChart, ScatterChart } from 'echarts/charts';
import {
  AriaComponent, AxisPointerComponent, DataZoomInsideComponent, GridComponent, LegendComponent, MarkAreaComponent,
  MarkLineComponent,  TitleComponent, TooltipComponent,
} from 'echarts/components';
import * as echarts from 'echarts/core';
import { CanvasRenderer, SVGRenderer } from 'echarts/renderers';

import { h, s } from './dom';
import { ink, theme, type Look, type Pattern, type Theme } from './theme';

echarts.use([
  AriaComponent, AxisPointerComponent, BarChart, CanvasRenderer, CustomChart, DataZoomInsideComponent, GridComponent,
  LegendComponent, LineChart, MarkAreaComponent, MarkLineComponent, SVGRenderer, ScatterChart, TitleComponent, TooltipComponent,
]);

export type Chart = echarts.ECharts;
// ECharts' option types describe every chart it has; the few used here are plain objects.
export type Option = Record<string, unknown>;

export const kFont = '"Report Sans", system-ui, sans-serif';  // style.css brings it

export interface Zoom {
  start: number;
  end: number;
}

export const kWhole: Zoom = { start: 0, end: 100 };

export function makeChart(box: HTMLElement, renderer: 'svg' | 'canvas'): Chart {
  return echarts.init(box, null, { renderer });
}

export function setOption(chart: Chart, option: Option): void {
  chart.setOption(option as Parameters<Chart['setOption']>[0], { notMerge: true });
  // Drawn now, not in the next animation frame: a printer or an exporter does not wait for one.
  chart.getZr().flush();
}

export function zoomOf(chart: Chart): Zoom {
  const zoom = (chart.getOption() as { dataZoom?: Partial<Zoom>[] } | undefined)?.dataZoom?.[0];
  return { start: zoom?.start ?? 0, end: zoom?.end ?? 100 };
}

export function baseOption(caption: string, of: Theme): Option {
  return {
    animation: false,
    // Above 3000 points ECharts draws 400 in each animation frame; a picture or a print taken before the last one would show
    // a run that seems to stop early.
    progressive: 0,
    backgroundColor: 'transparent',
    textStyle: { fontFamily: kFont, fontSize: 12, color: ink(of).text },
    aria: { enabled: true, label: { enabled: true, description: caption } },
  };
}

export function tooltipStyle(of: Theme): Option {
  const c = ink(of);
  return {
    confine: true,
    backgroundColor: c.surface,
    borderColor: c.line,
    borderWidth: 1,
    padding: [8, 10],
    textStyle: { color: c.text, fontFamily: kFont, fontSize: 12.5 },
    extraCssText: 'border-radius:6px;box-shadow:0 4px 16px rgba(0,0,0,.18);max-width:26rem;white-space:normal',
    transitionDuration: 0,
  };
}

export interface TipRow {
  look: Look | null;
  name: string;
  text: string;
}

export function tip(head: string, rows: TipRow[]): HTMLElement {
  return h('div', { class: 'tip' },
    h('div', { class: 'tip-head' }, head),
    ...rows.map((row) => h('div', { class: 'tip-row' },
      row.look ? swatch(row.look, 'line') : null,
      h('span', { class: 'tip-name' }, row.name),
      h('span', { class: 'tip-value' }, row.text))));
}

// Shapes of 10 x 10 around the origin, for the legend's swatches.
const kShapes: Record<string, string> = {
  circle: 'M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z',
  rect: 'M-3.6,-3.6h7.2v7.2h-7.2z',
  roundRect: 'M-3.6,-3.6h7.2v7.2h-7.2z',
  triangle: 'M0,-4.4L4.4,3.8H-4.4z',
  diamond: 'M0,-5L4.4,0L0,5L-4.4,0z',
  down: 'M0,4.4L4.4,-3.8H-4.4z',
  plus: 'M-1.4,-4.6h2.8v3.2h3.2v2.8h-3.2v3.2h-2.8v-3.2h-3.2v-2.8h3.2z',
  cross: 'M-4,-4L4,4M-4,4L4,-4',
};

// What ECharts has no name for.
const kPaths: Record<string, string> = {
  down: 'path://M5,9L10,0H0z',
  plus: 'path://M3.5,0h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z',
};

export function symbolOf(look: Look): string {
  return kPaths[look.symbol] ?? look.symbol;
}

const kPatterns: Record<Pattern, string> = {
  plain: '',
  rising: 'M-9,5L1,-5M-5,5L5,-5M-1,5L9,-5',
  falling: 'M-9,-5L1,5M-5,-5L5,5M-1,-5L9,5',
  level: 'M-7,-2.5H7M-7,0.5H7M-7,3.5H7',
  dots: 'M-4,-2h1.5M0,-2h1.5M4,-2h1.5M-4,2h1.5M0,2h1.5M4,2h1.5',
};

/// A picture of how a series is drawn. Decoration: the name stands beside it.
export function swatch(look: Look, as: 'line' | 'points' | 'bar' | 'rule'): SVGElement {
  const svg = s('svg', { class: 'swatch', width: 28, height: 14, viewBox: '-14 -7 28 14', 'aria-hidden': 'true' });
  const dash = look.dash === 'solid' ? null : look.dash.join(' ');
  if (as === 'bar') {
    svg.append(s('rect', { x: -7, y: -5, width: 14, height: 10, rx: 1.5, fill: look.color }));
    const pattern = kPatterns[look.pattern ?? 'plain'];
    if (pattern) {
      // An inner picture cuts the strokes off at the edge of the bar.
      svg.append(s('svg', { x: -7, y: -5, width: 14, height: 10, viewBox: '-7 -5 14 10', overflow: 'hidden' },
        s('path', { d: pattern, stroke: patternInk(theme()), 'stroke-width': 1.2 })));
    }
    return svg;
  }
  if (as === 'rule') {
    svg.append(s('path', { d: 'M0,-7V7', stroke: look.color, 'stroke-width': 2, 'stroke-dasharray': dash }));
    return svg;
  }
  if (as === 'line') {
    svg.append(s('path', { d: 'M-14,0H14', stroke: look.color, 'stroke-width': look.width, 'stroke-dasharray': dash }));
  }
  const shape = kShapes[look.symbol];
  if (shape) {
    const open = look.symbol === 'cross';
    svg.append(s('path', { d: shape, fill: open ? 'none' : look.color, stroke: open ? look.color : null,
                           'stroke-width': open ? 2 : null }));
  }
  return svg;
}

export interface LegendItem {
  name: string;
  look: Look;
  as: 'line' | 'points' | 'bar' | 'rule';
}

/// Above so many, there are buttons for all and none of them.
const kManySeries = 6;

/// A legend of real buttons, so that a keyboard reaches it; ECharts' own is only for the mouse.
export function legend(items: LegendItem[], hidden: Set<string>, onChange: () => void): HTMLElement {
  const all = (show: boolean) => {
    for (const item of items) {
      if (show) hidden.delete(item.name);
      else hidden.add(item.name);
    }
    for (const b of Array.from(box.querySelectorAll('.legend-item'))) b.setAttribute('aria-pressed', String(show));
    onChange();
  };
  const whole = (text: string, show: boolean) => h('button', { type: 'button', class: 'tool', click: () => all(show) }, text);
  const box: HTMLElement = h('div', { class: 'legend', role: 'group', 'aria-label': 'Series shown' },
    ...(items.length > kManySeries ? [whole('All', true), whole('None', false)] : []),
    ...items.map((item) => {
      const b = h('button', { type: 'button', class: 'legend-item', 'aria-pressed': String(!hidden.has(item.name)),
                              title: `Show or hide ${item.name}` },
        swatch(item.look, item.as), h('span', {}, item.name));
      b.addEventListener('click', () => {
        if (hidden.has(item.name)) hidden.delete(item.name);
        else hidden.add(item.name);
        b.setAttribute('aria-pressed', String(!hidden.has(item.name)));
        onChange();
      });
      return b;
    }));
  return box;
}

/// A switch between a linear and a logarithmic axis.
export function scaleButton(axis: 'x' | 'y', log: boolean, onChange: (log: boolean) => void): HTMLButtonElement {
  const b = h('button', { type: 'button', class: 'tool', 'aria-pressed': String(log), title: `Logarithmic ${axis} axis` }, `Log ${axis}`);
  b.addEventListener('click', () => {
    const now = b.getAttribute('aria-pressed') !== 'true';
    b.setAttribute('aria-pressed', String(now));
    onChange(now);
  });
  return b;
}

export function patternInk(of: Theme): string {
  return of === 'dark' ? 'rgba(0,0,0,.4)' : 'rgba(255,255,255,.45)';
}

/// Buttons for what the wheel and the pointer do: the same zoom without a mouse.
export function zoomButtons(get: () => Zoom, set: (zoom: Zoom) => void): HTMLElement {
  const move = (by: number) => {
    const z = get();
    const step = (z.end - z.start) * by;
    const shift = Math.max(-z.start, Math.min(100 - z.end, step));
    set({ start: z.start + shift, end: z.end + shift });
  };
  const scale = (by: number) => {
    const z = get();
    const middle = (z.start + z.end) / 2;
    const half = Math.min(50, Math.max(0.05, ((z.end - z.start) / 2) * by));
    const start = Math.max(0, Math.min(100 - 2 * half, middle - half));
    set({ start, end: start + 2 * half });
  };
  const one = (text: string, label: string, act: () => void) =>
    h('button', { type: 'button', class: 'tool square', 'aria-label': label, title: label, click: act }, text);
  return h('span', { class: 'tool-group', role: 'group', 'aria-label': 'Zoom' },
    one('‹', 'Move left', () => move(-0.4)),
    one('−', 'Zoom out', () => scale(2)),
    one('+', 'Zoom in', () => scale(0.5)),
    one('›', 'Move right', () => move(0.4)),
    h('button', { type: 'button', class: 'tool', click: () => set(kWhole) }, 'Reset zoom'));
}

export function dispatchZoom(chart: Chart, zoom: Zoom): void {
  chart.dispatchAction({ type: 'dataZoom', start: zoom.start, end: zoom.end });
}

// Ctrl: the wheel alone scrolls the page, as everywhere.
export function insideZoom(axes: number[], zoom: Zoom): Option {
  return { type: 'inside', xAxisIndex: axes, start: zoom.start, end: zoom.end, filterMode: 'none',
           zoomOnMouseWheel: 'ctrl', moveOnMouseWheel: false, moveOnMouseMove: true, preventDefaultMouseMove: false };
}

export interface Picture {
  width: number;
  height: number;
}

export function svgPicture(option: Option, size: Picture): string {
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, ...size });
  try {
    chart.setOption(option as Parameters<Chart['setOption']>[0]);
    return chart.renderToSVGString();
  } finally {
    chart.dispose();
  }
}

export async function pngPicture(option: Option, size: Picture): Promise<Blob> {
  const box = h('div', { style: `position:absolute;left:-9999px;width:${size.width}px;height:${size.height}px` });
  document.body.append(box);
  const chart = echarts.init(box, null, { renderer: 'canvas', devicePixelRatio: 2, ...size });
  try {
    setOption(chart, option);
    const canvas = chart.renderToCanvas({ pixelRatio: 2, backgroundColor: '#ffffff' });
    return await canvasBlob(canvas);
  } finally {
    chart.dispose();
    box.remove();
  }
}

export function canvasBlob(canvas: HTMLCanvasElement): Promise<Blob> {
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('the browser made no picture'))), 'image/png');
  });
}
