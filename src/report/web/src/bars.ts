// Bars in groups, one group for each category.

import { axisOption, extentOf, markRoom, markSeries, withMarks, type Extent } from './axes';
import {
  baseOption, kFont, legend, makeChart, patternInk, pngPicture, scaleButton, setOption, svgPicture, tip, tooltipStyle, type Chart, type Option,
} from './chart';
import type { BarSeries, BarsFigure, Mark } from './data';
import { h } from './dom';
import { ink, looks, theme, type Look, type Pattern, type Theme } from './theme';
import { axisUnit, rawUnit, value } from './units';
import { Chosen, kPaper, type View, type ViewOptions } from './view';
import { textWidth, wrap } from './wrap';

// Beyond this, numbers over the bars would run into each other.
const kMostLabels = 30;
const kLabelGap = 3;
const kLabelFont = `11.5px ${kFont}`;
const kNameFont = `12.5px ${kFont}`;

// Patterns over the colour, so that the bars differ in grey too.
const kDecals: Partial<Record<Pattern, Option>> = {
  rising: { symbol: 'rect', dashArrayX: [1, 0], dashArrayY: [1.5, 5], rotation: -Math.PI / 4 },
  dots: { symbol: 'circle', dashArrayX: [[5, 5], [0, 5, 5, 0]], dashArrayY: [5, 0], symbolSize: 0.5 },
  falling: { symbol: 'rect', dashArrayX: [1, 0], dashArrayY: [1.5, 5], rotation: Math.PI / 4 },
  level: { symbol: 'rect', dashArrayX: [1, 0], dashArrayY: [1.5, 5], rotation: 0 },
};

/// How much a category takes from top to bottom where bars lie, and a figure of them alone with its title and caption;
/// picture_height() in src/report/model.cpp says the same.
function rowHeight(fig: BarsFigure): number {
  return Math.max(34, 6 + 14 * fig.series.length);
}

export function lyingHeight(fig: BarsFigure): number {
  return Math.max(320, 200 + rowHeight(fig) * fig.categories.length);
}

interface Shown {
  one: BarSeries;
  look: Look;
}

interface Plan {
  shown: Shown[];
  extent: Extent | null;
  label: (v: number) => string;
}

function planOf(fig: BarsFigure, of: Theme, hidden: Set<string>): Plan {
  const all = looks(fig.series, of);
  const log = fig.y.scale === 'log';
  const values = fig.series.flatMap((one) => [...one.values, ...one.low, ...one.high]);
  const extent = withMarks(extentOf(values, log), fig.marks, 'y', log);
  // The axis names the unit; at a bar there is room for the number.
  const unit = axisUnit(fig.y.unit, extent ? extent.max : 0);
  return {
    shown: fig.series.map((one, i) => ({ one, look: all[i]! })).filter(({ one }) => !hidden.has(one.name)),
    extent,
    label: (v) => (log ? value(v, fig.y.unit, 3) : unit.tick(Number(v.toPrecision(3)))),
  };
}

function hasSpread(one: BarSeries, i: number): boolean {
  return typeof one.values[i] === 'number' && typeof one.low[i] === 'number' && typeof one.high[i] === 'number';
}

function head(fig: BarsFigure, of: Theme, plan: Plan): Option {
  const c = ink(of);
  return {
    backgroundColor: '#ffffff',
    title: { text: fig.title, left: 16, top: 10, textStyle: { color: c.text, fontSize: 16, fontWeight: 600, width: 920, overflow: 'truncate' } },
    legend: { show: true, left: 16, top: 38, textStyle: { color: c.text }, data: plan.shown.map(({ one }) => ({ name: one.name })) },
  };
}

function barsTooltip(fig: BarsFigure, of: Theme, plan: Plan): Option {
  type Param = { seriesType: string; dataIndex: number };
  return {
    ...tooltipStyle(of), trigger: 'axis', axisPointer: { type: 'shadow', shadowStyle: { color: ink(of).faint, opacity: 0.6 } },
    formatter: (raw: Param[]) => {
      const i = raw.find((p) => p.seriesType === 'bar')?.dataIndex;
      if (i === undefined) return '';
      return tip(fig.categories[i] ?? '', plan.shown.map(({ one, look }) => ({
        look: { ...look, dash: 'solid' as const, width: 6, symbol: 'none' }, name: one.name,
        text: value(one.values[i], fig.y.unit) +
              (hasSpread(one, i) ? ` (${value(one.low[i], fig.y.unit)} to ${value(one.high[i], fig.y.unit)})` : ''),
      })));
    },
  };
}

/// The bars, and over those with a spread its whiskers. A number stands beyond whichever reaches farther.
function barSeries(fig: BarsFigure, of: Theme, plan: Plan, labels: boolean): Option[] {
  const c = ink(of);
  const lying = fig.horizontal;
  const layout = lying ? { barGap: '0%', barCategoryGap: '30%', barMaxWidth: 20 }
                       : { barGap: '12%', barCategoryGap: '32%', barMaxWidth: 64 };
  const series: Option[] = [];
  plan.shown.forEach(({ one, look }, at) => {
    const quiet = lying && (one.role === 'paper' || one.role === 'ideal');
    const text = { color: quiet ? c.muted : c.text, fontSize: 11.5, fontWeight: lying && !quiet ? 600 : 400 };
    const decal = kDecals[look.pattern ?? 'plain'];
    const round = lying ? [0, 2, 2, 0] : [2, 2, 0, 0];
    series.push({
      type: 'bar', name: one.name, id: `series-${fig.series.indexOf(one)}`, ...layout,
      data: one.values.map((v, i) => (labels && hasSpread(one, i) ? { value: v, label: { show: false } } : v)),
      itemStyle: { color: look.color, borderRadius: round, decal: decal ? { ...decal, color: patternInk(of) } : undefined },
      label: { show: labels, position: lying ? 'right' : 'top', distance: lying ? 5 : 4, ...text,
               formatter: (p: { value: number }) => plan.label(p.value) },
      labelLayout: lying ? undefined : { hideOverlap: true },
      emphasis: { disabled: true },
    });
    const rows = one.values.flatMap((v, i) => (hasSpread(one, i) ? [[i, v, one.low[i], one.high[i]]] : []));
    if (rows.length === 0) return;
    type Api = {
      value(d: number): number;
      coord(v: [number, number]): [number, number];
      barLayout(o: Option): { offsetCenter: number }[];
    };
    series.push({
      type: 'custom', name: one.name, id: `spread-${at}`, data: rows, silent: true, z: 5,
      encode: lying ? { x: [2, 3], y: 0 } : { x: 0, y: [2, 3] }, tooltip: { show: false },
      renderItem: (_: unknown, api: Api) => {
        const place = (v: number) => api.coord(lying ? [v, api.value(0)] : [api.value(0), v]);
        const off = api.barLayout({ ...layout, count: plan.shown.length })[at]?.offsetCenter ?? 0;
        // `along` the axis of values, `across` it.
        const across = place(api.value(2))[lying ? 1 : 0] + off;
        const [low, high] = [place(api.value(2)), place(api.value(3))].map((p) => p[lying ? 0 : 1]) as [number, number];
        const line = (a1: number, b1: number, a2: number, b2: number) => ({
          type: 'line', style: { stroke: c.text, lineWidth: 1.4 },
          shape: lying ? { x1: a1, y1: b1, x2: a2, y2: b2 } : { x1: b1, y1: a1, x2: b2, y2: a2 } });
        const children: Option[] = [line(low, across, high, across), line(low, across - 4, low, across + 4), line(high, across - 4, high, across + 4)];
        if (labels) {
          const at_ = lying ? { x: high + 6, y: across } : { x: across, y: high - 5 };
          children.push({ type: 'text', ...at_, style: {
            text: plan.label(api.value(1)), textAlign: lying ? 'left' : 'center', textVerticalAlign: lying ? 'middle' : 'bottom',
            fill: text.color, fontFamily: kFont, fontSize: text.fontSize, fontWeight: text.fontWeight } });
        }
        return { type: 'group', children };
      },
    });
  });
  return series;
}

/// Whether each bar's number has room beside those of its neighbours, in a plot so wide.
function labelsFit(fig: BarsFigure, plan: Plan, width: number): boolean {
  const bars = plan.shown.length;
  if (bars === 0 || bars * fig.categories.length > kMostLabels) return false;
  // As the bars are laid out: a category has 68 % of its share, and gaps take 12 % of a bar.
  const bar = Math.min(64, (width / fig.categories.length * 0.68) / (bars + 0.12 * (bars - 1)));
  const widest = Math.max(0, ...plan.shown.flatMap(({ one }) =>
    one.values.map((v) => (typeof v === 'number' ? textWidth(plan.label(v), kLabelFont) : 0))));
  return widest + kLabelGap <= (bars === 1 ? width / fig.categories.length : 1.12 * bar);
}

function standing(fig: BarsFigure, of: Theme, hidden: Set<string>, picture: boolean, width: number): Option {
  const c = ink(of);
  const plan = planOf(fig, of, hidden);
  const labels = labelsFit(fig, plan, width - 74 - markRoom(fig.marks, width));
  const names = fig.categories.map((name) => wrap(name, width / Math.max(1, fig.categories.length) - 8, 3, kNameFont));
  const lines = Math.max(1, ...names.map((name) => name.split('\n').length));
  return {
    ...baseOption(fig.caption, of),
    ...(picture ? head(fig, of, plan) : {}),
    grid: { left: 74, right: markRoom(fig.marks, width), top: picture ? 96 : 26, bottom: 18 + 16 * lines },
    xAxis: { type: 'category', data: names, axisLine: { lineStyle: { color: c.line } }, axisTick: { show: false },
             axisLabel: { color: c.text, fontSize: 12.5, lineHeight: 16, interval: 0, hideOverlap: true } },
    yAxis: axisOption(fig.y, plan.extent, of, false),
    tooltip: barsTooltip(fig, of, plan),
    series: [...barSeries(fig, of, plan, labels), ...markSeries(fig.marks.filter((m) => m.axis === 'y'), of, width)],
  };
}

/// Categories from top to bottom, each with its whole name.
function lying(fig: BarsFigure, of: Theme, hidden: Set<string>, picture: boolean, width: number): Option {
  const c = ink(of);
  const plan = planOf(fig, of, hidden);
  const widest = Math.max(0, ...fig.categories.map((name) => textWidth(name, kNameFont)));
  const names = Math.ceil(Math.min(widest + 4, Math.max(110, width * 0.4)));
  const marks = fig.marks.filter((m) => m.axis === 'y').map((m): Mark => ({ ...m, axis: 'x' }));
  const axis = axisOption(fig.y, plan.extent, of, true);
  // A bar is as long as its value, so it begins at zero.
  if (axis.type === 'value') Object.assign(axis, { scale: false, min: plan.extent && plan.extent.min >= 0 ? 0 : undefined });
  return {
    ...baseOption(fig.caption, of),
    ...(picture ? head(fig, of, plan) : {}),
    grid: { left: names + 22, right: 62, top: (picture ? 76 : 8) + (marks.length > 0 ? 16 : 0), bottom: 46 },
    xAxis: { ...axis, axisLine: { show: false }, axisTick: { show: false }, splitLine: { show: true, lineStyle: { color: c.faint } } },
    yAxis: { type: 'category', inverse: true, data: fig.categories.map((name) => wrap(name, names, 2, kNameFont)),
             axisLine: { show: true, lineStyle: { color: c.line } }, axisTick: { show: false },
             axisLabel: { color: c.text, fontSize: 12.5, lineHeight: 15, interval: 0, margin: 12, align: 'right' } },
    tooltip: barsTooltip(fig, of, plan),
    series: [...barSeries(fig, of, plan, true), ...markSeries(marks, of, width, 0, { x: 0, y: 0 }, 'start')],
  };
}

function barsOption(fig: BarsFigure, of: Theme, hidden: Set<string>, picture: boolean, width: number): Option {
  return fig.horizontal ? lying(fig, of, hidden, picture, width) : standing(fig, of, hidden, picture, width);
}

export function barsView(given: BarsFigure, options: ViewOptions = { alone: false }): View {
  // The reader may have another axis than the file says.
  const fig: BarsFigure = { ...given, y: { ...given.y } };
  const chosen = options.chosen ?? new Chosen();
  const hidden = chosen.hidden;
  const box = h('div', { class: 'chart chart-bars', role: 'img', 'aria-label': fig.caption || fig.title });
  if (fig.horizontal) box.style.height = `${56 + rowHeight(fig) * fig.categories.length}px`;
  const size = { width: 960, height: fig.horizontal ? Math.max(320, 130 + rowHeight(fig) * fig.categories.length) : 600 };
  const legendBox = h('div');
  let chart: Chart | null = null;
  const redraw = () => {
    chart ??= makeChart(box, 'svg');
    setOption(chart, barsOption(fig, theme(), hidden, false, box.clientWidth - (fig.horizontal ? 0 : 100)));
  };
  const me = {};
  const drawLegend = () => {
    const all = looks(fig.series);
    if (fig.series.length < 2) return;
    legendBox.replaceChildren(legend(fig.series.map((one, i) => ({ name: one.name, look: all[i]!, as: 'bar' as const })), hidden,
      () => { redraw(); chosen.changed(me); }));
  };
  chosen.listen(me, () => { if (chart) { drawLegend(); redraw(); } });
  const paper = () => barsOption(fig, kPaper, hidden, true, 860);
  const table = () => {
    const spread = fig.series.some((one) => one.low.length > 0 || one.high.length > 0);
    const y = fig.y.unit ? `${fig.y.label} (${rawUnit(fig.y.unit)})` : fig.y.label;
    return {
      columns: ['category', 'series', y, ...(spread ? ['low', 'high'] : [])],
      count: fig.categories.length * fig.series.length,
      *rows() {
        for (const [i, category] of fig.categories.entries()) {
          for (const one of fig.series) {
            const row = [category, one.name, one.values[i] ?? null];
            yield spread ? [...row, one.low[i] ?? null, one.high[i] ?? null] : row;
          }
        }
      },
    };
  };
  return {
    body: h('div', { class: 'chart-body' }, legendBox, box),
    tools: fig.series.some((one) => one.values.some((v) => v !== null && v > 0)) ? [scaleButton('y', fig.y.scale === 'log', (log) => {
      fig.y.scale = log ? 'log' : 'linear';
      redraw();
    })] : [],
    hasData: fig.series.some((one) => one.values.some((v) => v !== null)),
    remarks: [],
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
      const option = chart?.getOption() as { series?: { id: string; name: string; data: unknown }[] } | undefined;
      return { categories: fig.categories, series: (option?.series ?? []).filter((one) => one.id.startsWith('series-'))
        .map((one) => ({ name: one.name, values: (one.data as unknown[]).map((v) => (typeof v === 'object' && v !== null ? (v as { value: unknown }).value : v)) })) };
    },
    shown: table,
    all: () => ({ name: fig.id, table: table() }),
    png: () => pngPicture(paper(), size),
    svg: () => svgPicture(paper(), size),
  };
}
