// Lines, steps and points.

import {
  axisOption, extentOf, isTime, markRoom, markSeries, spanSeries, withMarks, type Extent,
} from './axes';
import {
  baseOption, dispatchZoom, insideZoom, kWhole, legend, makeChart, pngPicture, scaleButton, setOption, svgPicture, symbolOf, tip, tooltipStyle,
  zoomButtons, zoomOf, type Chart, type Option, type TipRow, type Zoom,
} from './chart';
import type { Point, XyFigure, XySeries } from './data';
import { h } from './dom';
import { onSkip, skipField, skipped } from './skip';
import { ink, leads, looks, theme, type Look, type Theme } from './theme';
import { rawUnit, sizeName, value } from './units';
import { Chosen, kPaper, type View, type ViewOptions } from './view';

// An SVG node for each of tens of thousands of points makes a page crawl; from here on they are painted.
const kMostSvgPoints = 6000;
const kFewPoints = 40;

function drawable(p: Point, fig: XyFigure): boolean {
  return p[1] !== null && (fig.y.scale !== 'log' || p[1] > 0) &&
         (fig.x.scale !== 'log' || (typeof p[0] === 'number' && p[0] > 0));
}

function hasSpread(p: Point): boolean {
  return p.length > 2 && typeof p[2] === 'number' && typeof p[3] === 'number';
}

/// Whiskers where points are few, a band where they are many.
function spreadSeries(series: XySeries, at: number, look: Look, logY: boolean): Option[] {
  const points = series.points.filter((p) => hasSpread(p) && (!logY || p[2]! > 0));
  if (points.length === 0) return [];
  const common = { type: 'custom', name: series.name, id: `spread-${at}`, data: points, silent: true, z: 1,
                   encode: { x: 0, y: [2, 3] }, dimensions: ['x', 'value', 'low', 'high'], tooltip: { show: false }, clip: true };
  type Api = { value(d: number): number; coord(v: [number, number]): [number, number] };
  if (points.length <= kFewPoints) {
    return [{
      ...common,
      renderItem: (_: unknown, api: Api) => {
        const [x, low] = api.coord([api.value(0), api.value(2)]);
        const [, high] = api.coord([api.value(0), api.value(3)]);
        const line = (x1: number, y1: number, x2: number, y2: number) => ({
          type: 'line', shape: { x1, y1, x2, y2 }, style: { stroke: look.color, lineWidth: 1.4, opacity: 0.85 } });
        return { type: 'group', children: [line(x, low, x, high), line(x - 4, low, x + 4, low), line(x - 4, high, x + 4, high)] };
      },
    }];
  }
  return [{
    ...common,
    renderItem: (params: { dataIndex: number }, api: Api) => {
      if (params.dataIndex !== 0) return null;
      const edge = (side: 2 | 3) => points.flatMap((p, i) => {
        const at = api.coord([p[0] as number, p[side]!]);
        // The edge of a step stays level until the next point.
        const next = points[i + 1];
        return series.draw === 'step' && next ? [at, [api.coord([next[0] as number, p[side]!])[0], at[1]]] : [at];
      });
      return { type: 'polygon', shape: { points: [...edge(2), ...edge(3).reverse()] }, style: { fill: look.color, opacity: 0.18 } };
    },
  }];
}

// Dashes along a line of many short pieces read as noise: such a line is solid, and some of its points carry the symbol.
function lineDash(series: XySeries, look: Look): Look['dash'] {
  return series.points.length > kFewPoints && series.role !== 'ideal' && !series.dashed ? 'solid' : look.dash;
}

function sparse(count: number, at: number, symbol: string): (v: unknown, p: { dataIndex: number }) => string {
  const every = Math.ceil(count / 7);
  // Series that run together carry theirs at different places.
  const first = Math.floor((every * ((at * 0.37) % 1)) + every / 3) % every;
  return (_, p) => (p.dataIndex % every === first ? symbol : 'none');
}

function xText(v: number | string, fig: XyFigure): string {
  if (typeof v === 'string') return v;
  return fig.x.unit === 'B' ? sizeName(v) : value(v, fig.x.unit);
}

function yText(p: Point, fig: XyFigure): string {
  const text = value(p[1], fig.y.unit);
  return hasSpread(p) ? `${text} (${value(p[2], fig.y.unit)} to ${value(p[3], fig.y.unit)})` : text;
}

interface Context {
  of: Theme;
  hidden: Set<string>;
  zoom: Zoom;
  picture: boolean;
  width: number;
}

/// Where its time axis begins; one that is over by then shows all of it.
function beginning(fig: XyFigure): number {
  if (!isTime(fig.x)) return 0;
  const beyond = (p: XyFigure['series'][number]['points'][number]) => typeof p[0] === 'number' && p[0] > skipped();
  return fig.series.some((one) => one.points.some(beyond)) ? skipped() : 0;
}

/// The figure without what comes before the beginning of its time axis.
function begun(fig: XyFigure): XyFigure {
  const from = beginning(fig);
  if (from <= 0) return fig;
  return { ...fig, series: fig.series.map((one) => ({ ...one, points: one.points.filter((p) => typeof p[0] !== 'number' || p[0] >= from) })) };
}

function xyOption(whole: XyFigure, cx: Context): Option {
  const fig = begun(whole);
  const all = looks(fig.series, cx.of);
  const logX = fig.x.scale === 'log';
  const logY = fig.y.scale === 'log';
  const xs = new Set<number>();
  const ys: (number | null | undefined)[] = [];
  for (const one of fig.series) {
    for (const p of one.points) {
      if (typeof p[0] === 'number' && (!logX || p[0] > 0)) xs.add(p[0]);
      ys.push(p[1], p[2], p[3]);
    }
  }
  // Hiding a series moves no axis: what remains stays where it was.
  const xExtent = withMarks(extentOf(xs, logX), fig.marks, 'x', logX);
  const yExtent: Extent | null = withMarks(extentOf(ys, logY), fig.marks, 'y', logY);
  const categories = fig.x.scale === 'category'
    ? [...new Set(fig.series.flatMap((one) => one.points.map((p) => String(p[0]))))] : [];
  const c = ink(cx.of);

  const xAxis = fig.x.scale === 'category'
    ? { type: 'category', data: categories, name: fig.x.label, nameLocation: 'middle', nameGap: 30,
        nameTextStyle: { color: c.muted, fontSize: 12.5 }, axisLine: { lineStyle: { color: c.line } },
        axisTick: { alignWithLabel: true, lineStyle: { color: c.line } }, axisLabel: { color: c.muted, hideOverlap: true } }
    : axisOption(fig.x, xExtent, cx.of, true, [...xs].sort((a, b) => a - b), cx.width - 74 - markRoom(fig.marks, cx.width));

  const series: Option[] = [];
  fig.series.forEach((one, i) => {
    if (cx.hidden.has(one.name)) return;
    const look = all[i]!;
    const shared = { name: one.name, id: `series-${i}`, data: one.points, color: look.color,
                     encode: { x: 0, y: 1 }, z: leads(one.role) ? 4 : 3 };
    const many = one.points.length > kFewPoints;
    if (one.draw === 'points') {
      series.push({ ...shared, type: 'scatter', symbol: look.symbol === 'none' ? 'circle' : symbolOf(look),
                    symbolSize: one.points.length > 2000 ? 2.5 : many ? 5 : 8,
                    itemStyle: { color: look.color, opacity: one.points.length > 500 ? 0.45 : 0.85 } });
    } else {
      series.push({ ...shared, type: 'line', step: one.draw === 'step' ? 'end' : false, connectNulls: false,
                    symbol: many ? sparse(one.points.length, i, symbolOf(look)) : symbolOf(look),
                    symbolSize: look.symbol === 'triangle' || look.symbol === 'diamond' ? 9 : 7,
                    showSymbol: look.symbol !== 'none', showAllSymbol: true, triggerLineEvent: true,
                    lineStyle: { color: look.color, width: look.width, type: lineDash(one, look) },
                    itemStyle: { color: look.color }, emphasis: { disabled: true } });
    }
    series.push(...spreadSeries(one, i, look, logY));
  });
  series.push(...markSeries(fig.marks, cx.of, cx.width));
  if (isTime(fig.x)) series.push(...spanSeries(fig.spans, xExtent && { min: beginning(fig) > 0 ? skipped() : Math.min(0, xExtent.min), max: xExtent.max }, cx.of));

  const byName = new Map(fig.series.map((one, i) => [one.name, all[i]!]));
  type Param = { seriesName: string; seriesType: string; value: Point };
  const pointsOnly = fig.series.every((one) => one.draw === 'points');
  return {
    ...baseOption(fig.caption, cx.of),
    ...(cx.picture ? {
      backgroundColor: '#ffffff',
      title: { text: fig.title, left: 16, top: 10, textStyle: { color: c.text, fontSize: 16, fontWeight: 600 } },
      legend: { show: true, left: 16, top: 38, itemWidth: 30, textStyle: { color: c.text },
                data: fig.series.filter((one) => !cx.hidden.has(one.name)).map((one) => ({ name: one.name })) },
    } : {}),
    grid: { left: 74, right: markRoom(fig.marks, cx.width), top: cx.picture ? 84 : fig.marks.some((m) => m.axis === 'x') ? 26 : 14, bottom: 52 },
    xAxis: beginning(fig) > 0 ? { ...xAxis, min: skipped() } : xAxis,
    yAxis: axisOption(fig.y, yExtent, cx.of, false),
    dataZoom: cx.picture ? [] : [insideZoom([0], cx.zoom)],
    tooltip: {
      ...tooltipStyle(cx.of),
      trigger: pointsOnly ? 'item' : 'axis',
      axisPointer: { type: 'line', lineStyle: { color: c.line, type: 'solid' } },
      formatter: (raw: Param | Param[]) => {
        const params = Array.isArray(raw) ? raw : [raw];
        const rows: TipRow[] = [];
        for (const p of params) {
          if (p.seriesType === 'custom' || !Array.isArray(p.value)) continue;
          // Schemes need not have the same x: each row says its own where it differs from the head.
          const elsewhere = p.value[0] !== params[0]!.value[0] ? ` at ${xText(p.value[0], fig)}` : '';
          rows.push({ look: byName.get(p.seriesName) ?? null, name: p.seriesName, text: yText(p.value, fig) + elsewhere });
        }
        if (rows.length === 0) return '';
        return tip(`${fig.x.label}: ${xText(params[0]!.value[0], fig)}`, rows);
      },
    },
    series,
  };
}

export function xyView(given: XyFigure, options: ViewOptions = { alone: false }): View {
  // The reader may have other axes than the file says.
  const fig: XyFigure = { ...given, x: { ...given.x }, y: { ...given.y } };
  const chosen = options.chosen ?? new Chosen();
  const total = fig.series.reduce((sum, one) => sum + one.points.length, 0);
  const painted = total > kMostSvgPoints;
  const hidden = chosen.hidden;
  const note = h('p', { class: 'axis-note', hidden: true });
  const box = h('div', { class: 'chart chart-xy', role: 'img', 'aria-label': fig.caption || fig.title });
  const legendBox = h('div');
  const body = h('div', { class: 'chart-body' }, legendBox, box, note);
  let chart: Chart | null = null;

  const context = (): Context => ({ of: theme(), hidden, zoom: chart ? zoomOf(chart) : kWhole, picture: false,
                              width: box.clientWidth });
  const redraw = () => {
    if (!chart) {
      chart = makeChart(box, painted ? 'canvas' : 'svg');
      chart.on('click', (p) => {
        if (p.seriesName) body.dispatchEvent(new CustomEvent('open-flow', { bubbles: true, detail: p.seriesName }));
      });
    }
    setOption(chart, xyOption(fig, context()));
    const gone = given.y.scale === fig.y.scale && given.x.scale === fig.x.scale ? 0
      : fig.series.reduce((sum, one) => sum + one.points.filter((p) => p[1] !== null && !drawable(p, fig)).length, 0);
    note.hidden = gone === 0;
    note.textContent = `${gone} ${gone === 1 ? 'point' : 'points'} at zero or below cannot be on a logarithmic axis.`;
  };
  const me = {};
  const drawLegend = () => {
    const all = looks(fig.series);
    if (fig.series.length < 2 && !fig.series[0]?.name) return;
    legendBox.replaceChildren(legend(fig.series.map((one, i) => ({
      name: one.name, look: { ...all[i]!, dash: lineDash(one, all[i]!) }, as: one.draw === 'points' ? 'points' as const : 'line' as const })), hidden,
      () => { redraw(); chosen.changed(me); }));
  };
  chosen.listen(me, () => { if (chart) { drawLegend(); redraw(); } });
  const unskip = isTime(fig.x) ? onSkip(() => { if (chart) redraw(); }) : null;
  const skip = isTime(fig.x) && !options.alone ? skipField() : null;
  const scale = (axis: 'x' | 'y') => scaleButton(axis, fig[axis].scale === 'log', (log) => {
    fig[axis].scale = log ? 'log' : 'linear';
    redraw();
  });
  const positive = (axis: 0 | 1) => fig.series.some((one) => one.points.some((p) => typeof p[axis] === 'number' && (p[axis] as number) > 0));

  const lost = fig.series.reduce((sum, one) =>
    sum + one.points.filter((p) => p[1] !== null && !drawable(p, fig)).length, 0);
  const remarks = lost === 0 ? [] : [lost === 1
    ? 'One point at zero or below is not on the logarithmic scale; the data shows it.'
    : `${lost} points at zero or below are not on the logarithmic scale; the data shows them.`];

  const paper = () => xyOption(fig, { of: kPaper, hidden, zoom: kWhole, picture: true, width: 960 });
  const table = () => {
    const spread = fig.series.some((one) => one.points.some(hasSpread));
    const unit = (a: { label: string; unit: string }) => (a.unit ? `${a.label} (${rawUnit(a.unit)})` : a.label);
    return {
      columns: ['series', unit(fig.x), unit(fig.y), ...(spread ? ['low', 'high'] : [])],
      count: total,
      *rows() {
        for (const one of fig.series) {
          for (const p of one.points) {
            yield spread ? [one.name, p[0], p[1], p[2] ?? null, p[3] ?? null] : [one.name, p[0], p[1]];
          }
        }
      },
    };
  };

  return {
    body,
    tools: [...(skip ? [skip] : []),
      h('span', { class: 'tool-group', role: 'group', 'aria-label': 'Axes' },
        fig.x.scale !== 'category' && !isTime(fig.x) && positive(0) ? scale('x') : null, positive(1) ? scale('y') : null),
      ...(total > 2 * kFewPoints
      ? [zoomButtons(() => (chart ? zoomOf(chart) : kWhole), (zoom) => { if (chart) dispatchZoom(chart, zoom); })] : [])],
    hasData: fig.series.some((one) => one.points.some((p) => p[1] !== null)),
    remarks,
    draw() {
      drawLegend();
      redraw();
    },
    resize() {
      if (!chart) return;
      chart.resize();
      redraw();
    },
    data() {
      const option = chart?.getOption() as { series?: { id: string; type: string; name: string; data: unknown }[] } | undefined;
      return { series: (option?.series ?? []).filter((one) => one.id.startsWith('series-'))
        .map((one) => ({ name: one.name, points: one.data })) };
    },
    shown: table,
    all: () => ({ name: fig.id, table: table() }),
    png: () => pngPicture(paper(), { width: 960, height: 600 }),
    svg: () => svgPicture(paper(), { width: 960, height: 600 }),
    dispose() {
      unskip?.();
      skip?.forget();
      chart?.dispose();
      chart = null;
    },
  };
}
