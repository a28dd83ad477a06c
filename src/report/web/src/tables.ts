// The numbers behind a figure, as a table on the page and as CSV.

import { h } from './dom';
import { digits } from './units';

export type Cell = string | number | null;

/// Rows are produced on demand: the replay of a fabric has hundreds of thousands.
export interface Table {
  columns: string[];
  count: number;
  rows: () => Iterable<Cell[]>;
}

export const kShownRows = 1000;

function csvCell(v: Cell): string {
  if (v === null) return '';
  const text = String(v);
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

export function csv(table: Table): Blob {
  const parts: string[] = [table.columns.map(csvCell).join(',') + '\n'];
  let chunk: string[] = [];
  for (const row of table.rows()) {
    chunk.push(row.map(csvCell).join(','));
    if (chunk.length === 8192) {
      parts.push(chunk.join('\n') + '\n');
      chunk = [];
    }
  }
  if (chunk.length > 0) parts.push(chunk.join('\n') + '\n');
  return new Blob(parts, { type: 'text/csv' });
}

export function tableElement(table: Table, label: string): HTMLElement {
  const body = h('tbody');
  let shown = 0;
  for (const row of table.rows()) {
    if (shown === kShownRows) break;
    body.append(h('tr', {}, ...row.map((cell) => h('td', { class: typeof cell === 'number' ? 'number' : null },
      cell === null ? '' : String(cell)))));
    ++shown;
  }
  const note = table.count > shown
    ? h('p', { class: 'table-note' }, `The first ${digits(shown)} of ${digits(table.count)} rows; the CSV holds all.`)
    : null;
  return h('div', {}, note,
    h('div', { class: 'scroll tall', tabindex: 0, role: 'region', 'aria-label': `Data of ${label}` },
      h('table', { class: 'data' },
        h('caption', { class: 'sr' }, `Data of ${label}`),
        h('thead', {}, h('tr', {}, ...table.columns.map((c) => h('th', { scope: 'col' }, c)))),
        body)));
}
