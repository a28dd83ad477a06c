// A table to be taken in at a glance: transports x cases, the darker the worse. Drawn as SVG in two parts, so that the
// names stand still while the cells scroll on a narrow screen.

import { canvasBlob, kFont } from './chart';
import type { HeatCell, HeatFigure } from './data';
import { h, s } from './dom';
import { channels, colourAt, inkOn, kRamps } from './ramp';
import type { Table } from './tables';
import { ink, isPrinting, theme, type Theme } from './theme';
import { rawUnit, value } from './units';
import { kPaper, type View } from './view';
import { textWidth, wrap } from './wrap';

const kRow = 26;
const kHead = 132;   // names of columns, at an angle
const kFoot = 26;    // names of groups
const kTail = 84;    // what the last name leans over
const kGap = 8;      // between groups
const kNameFont = `12.5px ${kFont}`;
const kNoteFont = `11px ${kFont}`;
const kLeast = 40;   // of a column, on a screen
const kHatch = 'heat-hatch';

/// A figure of it alone, with its title and caption; picture_height() in src/report/model.cpp says the same.
export function heatHeight(fig: HeatFigure): number {
  return 300 + kRow * fig.rows.length;
}

function shareOf(fig: HeatFigure, v: number): number {
  const place = (x: number) => (fig.value.scale === 'log' ? Math.log(Math.max(x, Number.MIN_VALUE)) : x);
  const span = place(fig.high) - place(fig.low);
  return span > 0 ? (place(v) - place(fig.low)) / span : 0;
}

function stopsOf(of: Theme): [number, number, number][] {
  return kRamps.queue[of].map(channels);
}

/// Where each column begins: groups stand a little apart.
function columnStarts(fig: HeatFigure, width: number): number[] {
  const starts: number[] = [];
  let x = 0;
  let left = fig.groups[0]?.columns ?? fig.columns.length;
  let group = 0;
  for (let i = 0; i < fig.columns.length; ++i) {
    if (left === 0) {
      x += kGap;
      left = fig.groups[++group]?.columns ?? fig.columns.length;
    }
    starts.push(x);
    x += width;
    --left;
  }
  return starts;
}

function label(text: string, x: number, y: number, attrs: Record<string, string | number>): SVGElement {
  return s('text', { x, y, 'font-family': kFont, 'font-size': 12, 'dominant-baseline': 'central', ...attrs }, text);
}

function namesPart(fig: HeatFigure, of: Theme, width: number): SVGElement {
  const c = ink(of);
  const part = s('g');
  fig.rows.forEach((row, i) => {
    const y = kHead + kRow * (i + 0.5);
    // The name first; the note has what is left of the room, and never more than half.
    const said = width > 150 && row.note ? wrap(row.note, width * 0.45, 1, kNoteFont) : '';
    const note = said ? textWidth(said, kNoteFont) + 8 : 0;
    part.append(label(wrap(row.name, width - note - 8, 1, kNameFont), 0, y, { 'font-size': 12.5, fill: c.text }));
    if (said) part.append(label(said, width - 8, y, { 'font-size': 11, 'text-anchor': 'end', fill: c.muted }));
  });
  return part;
}

function cellPart(fig: HeatFigure, cell: HeatCell, x: number, y: number, width: number, of: Theme, about: string): SVGElement {
  const c = ink(of);
  const known = cell.value !== null;
  const colour = known ? colourAt(stopsOf(of), shareOf(fig, cell.value!)) : null;
  const fill = colour ? `rgb(${colour.join(',')})` : cell.text ? `url(#${kHatch}-${of})` : c.faint;
  const size = width < 34 ? 9.5 : 11.5;
  return s('g', { class: 'heat-cell' },
    s('title', {}, `${about}: ${cell.note || (known ? value(cell.value, fig.value.unit) : 'not run')}`),
    s('rect', { x: x + 1, y: y + 1, width: width - 2, height: kRow - 2, rx: 3, fill }),
    label(cell.text, x + width / 2, y + kRow / 2, {
      'text-anchor': 'middle', 'font-size': cell.text.length > 5 ? size - 2 : size, 'font-weight': known ? 400 : 600,
      fill: colour ? inkOn(colour) : c.text }));
}

function hatch(of: Theme): SVGElement {
  const c = ink(of);
  return s('defs', {}, s('pattern', { id: `${kHatch}-${of}`, width: 5, height: 5, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
    s('rect', { width: 5, height: 5, fill: c.faint }), s('rect', { width: 1.2, height: 5, fill: c.line })));
}

function cellsPart(fig: HeatFigure, of: Theme, width: number): SVGElement {
  const c = ink(of);
  const starts = columnStarts(fig, width);
  const part = s('g', {}, hatch(of));
  fig.columns.forEach((name, k) => {
    const x = starts[k]! + width / 2;
    part.append(s('text', { transform: `translate(${x},${kHead - 8}) rotate(-45)`, 'font-family': kFont, 'font-size': 12, fill: c.text }, name));
    fig.rows.forEach((row, i) => {
      part.append(cellPart(fig, fig.cells[i]![k]!, starts[k]!, kHead + kRow * i, width, of, `${row.name}, ${name}`));
    });
  });
  const y = kHead + kRow * fig.rows.length + 6;
  let first = 0;
  for (const group of fig.groups) {
    const from = starts[first] ?? 0;
    const to = (starts[first + group.columns - 1] ?? 0) + width;
    part.append(s('path', { d: `M${from + 1},${y}H${to - 1}`, stroke: c.line, 'stroke-width': 1.5 }),
      label(wrap(group.name, to - from, 1, `11.5px ${kFont}`), (from + to) / 2, y + 11, { 'text-anchor': 'middle', 'font-size': 11.5, fill: c.muted }));
    first += group.columns;
  }
  return part;
}

function cellsWidth(fig: HeatFigure, width: number): number {
  return width * fig.columns.length + kGap * Math.max(0, fig.groups.length - 1) + kTail;
}

/// As wide as there is room for, and never too narrow for a number.
function columnWidth(fig: HeatFigure, room: number, least: number): number {
  const gaps = kGap * Math.max(0, fig.groups.length - 1) + kTail;
  return Math.max(least, Math.min(64, Math.floor((room - gaps) / Math.max(1, fig.columns.length))));
}

function svgBox(width: number, height: number, ...parts: SVGElement[]): SVGSVGElement {
  return s('svg', { xmlns: 'http://www.w3.org/2000/svg', width, height, viewBox: `0 0 ${width} ${height}` }, ...parts);
}

function legend(fig: HeatFigure, of: Theme): HTMLElement {
  const stops = kRamps.queue[of].join(', ');
  return h('div', { class: 'heat-legend' },
    h('span', {}, value(fig.low, fig.value.unit)),
    h('span', { class: 'heat-ramp', style: `background: linear-gradient(to right, ${stops})` }),
    h('span', {}, `${value(fig.high, fig.value.unit)} or more`),
    h('span', { class: 'heat-none' }), h('span', {}, fig.none));
}

function picture(fig: HeatFigure): SVGSVGElement {
  const c = ink(kPaper);
  const names = 200;
  const width = columnWidth(fig, 960 - 32 - names, 20);
  const move = (part: SVGElement, x: number) => s('g', { transform: `translate(${x},44)` }, part);
  const height = 44 + kHead + kRow * fig.rows.length + kFoot + 12;
  return svgBox(960, height, s('rect', { width: 960, height, fill: '#ffffff' }),
    label(fig.title, 16, 24, { 'font-size': 16, 'font-weight': 600, fill: c.text }),
    move(namesPart(fig, kPaper, names), 16), move(cellsPart(fig, kPaper, width), 16 + names));
}

async function pngOf(fig: HeatFigure): Promise<Blob> {
  const svg = picture(fig);
  const url = URL.createObjectURL(new Blob([svg.outerHTML], { type: 'image/svg+xml' }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = h('canvas', { width: 2 * 960, height: 2 * Number(svg.getAttribute('height')) });
    canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await canvasBlob(canvas);
  } finally {
    URL.revokeObjectURL(url);
  }
}

export function heatView(fig: HeatFigure): View {
  const key = h('div');
  const scroll = h('div', { class: 'heat-scroll', tabindex: 0, role: 'region', 'aria-label': `Cells of ${fig.title}` });
  const grid = h('div', { class: 'heat-grid' }, scroll);
  const body = h('div', { class: 'chart-body' }, key, grid);
  const draw = () => {
    const room = body.clientWidth || 900;
    const names = room < 640 ? 112 : 200;
    const width = columnWidth(fig, room - names, isPrinting() ? 22 : room >= 880 ? 30 : kLeast);
    const height = kHead + kRow * fig.rows.length + kFoot;
    key.replaceChildren(legend(fig, theme()));
    const cells = svgBox(cellsWidth(fig, width), height, cellsPart(fig, theme(), width));
    cells.setAttribute('role', 'img');
    cells.setAttribute('aria-label', fig.caption || fig.title);
    scroll.replaceChildren(cells);
    grid.replaceChildren(svgBox(names, height, namesPart(fig, theme(), names)), scroll);
  };
  const table = (): Table => ({
    columns: ['row', 'column', fig.value.unit ? `${fig.value.label} (${rawUnit(fig.value.unit)})` : fig.value.label, 'text', 'note'],
    count: fig.rows.length * fig.columns.length,
    *rows() {
      for (const [i, row] of fig.rows.entries()) {
        for (const [k, column] of fig.columns.entries()) {
          const cell = fig.cells[i]![k]!;
          yield [row.name, column, cell.value, cell.text, cell.note];
        }
      }
    },
  });
  return {
    body,
    tools: [],
    hasData: fig.cells.some((row) => row.some((cell) => cell.value !== null || cell.text !== '')),
    remarks: [],
    draw,
    resize: draw,
    data: () => ({ rows: fig.rows.map((row) => row.name), columns: fig.columns, cells: fig.cells }),
    shown: table,
    all: () => ({ name: fig.id, table: table() }),
    png: () => pngOf(fig),
    svg: () => picture(fig).outerHTML,
  };
}
