// Reads the data, builds the page or the one exported figure, and draws.

import { lyingHeight } from './bars';
import { parseReport, type Report } from './data';
import { frameFigure, type Framed } from './figure';
import { buildMessage, buildPage } from './page';
import { heatHeight } from './heat';
import { fragment, h } from './dom';
import { isPrinting, onTheme, setPrinting, setRoles, startTheme } from './theme';

declare global {
  interface Window {
    /// For tests: what each chart holds.
    strackReport: { figures: Record<string, { kind: string; drawn: boolean; data: () => unknown }>; data: (id: string) => unknown };
  }
}

function expose(framed: Framed[], drawn: Set<Framed>): void {
  const figures: Window['strackReport']['figures'] = {};
  for (const one of framed) {
    figures[one.figure.id] = {
      kind: one.figure.kind,
      get drawn() { return one.view !== null && drawn.has(one); },
      data: () => one.view?.data() ?? null,
    };
  }
  window.strackReport = { figures, data: (id) => figures[id]?.data() ?? null };
}

function watch(framed: Framed[], drawn: Set<Framed>): void {
  const byBody = new Map<Element, Framed>();
  const widths = new Map<Element, number>();
  const sizes = new ResizeObserver((entries) => {
    for (const entry of entries) {
      const one = byBody.get(entry.target);
      // Only a new width is a reason to draw: drawing itself changes the height.
      if (!one || widths.get(entry.target) === entry.contentRect.width) continue;
      const first = !widths.has(entry.target);
      widths.set(entry.target, entry.contentRect.width);
      if (!first && drawn.has(one) && entry.contentRect.width > 0) one.view?.resize();
    }
  });
  for (const one of framed) {
    if (!one.view) continue;
    byBody.set(one.view.body, one);
    sizes.observe(one.view.body);
  }
}

function showAll(report: Report): void {
  const framed = buildPage(report);
  const drawn = new Set<Framed>();
  expose(framed, drawn);
  const draw = (one: Framed) => {
    one.draw();
    drawn.add(one);
  };
  onTheme(() => { for (const one of drawn) one.draw(); });

  // One figure at a time, so that the page answers while a long report draws; first those in sight.
  const inSight = (one: Framed) => one.element.getBoundingClientRect().top < window.innerHeight &&
                                   one.element.getBoundingClientRect().bottom > 0;
  const anchor = fragment();
  const goal = anchor ? document.getElementById(anchor) : null;
  // Figures grow while they are drawn: the reader is kept at the goal until all are, or until she moves herself.
  let holding = goal !== null;
  for (const moved of ['wheel', 'touchmove', 'keydown', 'mousedown']) {
    window.addEventListener(moved, () => { holding = false; }, { once: true, passive: true });
  }
  const hold = () => { if (holding) goal?.scrollIntoView({ behavior: 'instant' as ScrollBehavior }); };
  hold();
  // What is not chosen is drawn when it is: a box without a size cannot be drawn in.
  const visible = (one: Framed) => one.element.closest('[hidden]') === null;
  document.addEventListener('reveal', () => {
    for (const one of framed) if (visible(one) && !drawn.has(one)) draw(one);
  });
  document.addEventListener('open-flow', (e) => {
    const name = String((e as CustomEvent).detail);
    const from = framed.find((one) => one.element.contains(e.target as Node));
    const run = from?.element.closest('section')?.querySelector('h2')?.textContent ?? '';
    for (const wanted of [`${name}, ${run}`, name]) {
      const found = framed.find((one) => one !== from && one.view?.open?.(wanted));
      if (!found) continue;
      found.element.scrollIntoView({ block: 'start' });
      return;
    }
  });
  const waiting = framed.filter(visible).sort((a, b) => Number(inSight(b)) - Number(inSight(a)));
  const next = () => {
    const one = waiting.shift();
    hold();
    if (!one) {
      holding = false;
      document.documentElement.dataset.drawn = '1';
      return;
    }
    if (!drawn.has(one)) draw(one);
    setTimeout(next, 0);
  };
  next();
  watch(framed, drawn);

  // Paper: light, everything drawn, as wide as the sheet.
  const print = (on: boolean) => {
    if (on === isPrinting()) return;
    if (on) for (const one of framed) if (!drawn.has(one) && visible(one)) draw(one);
    document.documentElement.classList.toggle('printing', on);
    setPrinting(on);
    for (const one of framed) if (drawn.has(one)) one.view?.resize();
  };
  window.addEventListener('beforeprint', () => print(true));
  window.addEventListener('afterprint', () => print(window.matchMedia('print').matches));
  window.matchMedia('print').addEventListener('change', (e) => print(e.matches));
}

/// `#export=ID`: that figure alone, for a picture 960 wide and mostly 600 high.
function showOne(report: Report, id: string): void {
  const root = document.documentElement;
  root.classList.add('export');
  const figure = report.sections.flatMap((one) => one.figures).find((one) => one.id === id);
  if (!figure) {
    buildMessage(`This report has no figure "${id}".`,
      `Its figures: ${report.sections.flatMap((one) => one.figures.map((f) => f.id)).join(', ') || 'none'}.`);
    notReady(`the report has no figure "${id}"`);
    return;
  }
  document.title = figure.title;
  const height = figure.kind === 'bars' && figure.horizontal ? lyingHeight(figure) : figure.kind === 'heat' ? heatHeight(figure) : 600;
  root.style.setProperty('--picture-height', `${height}px`);
  const one = frameFigure(figure, { alone: true });
  document.body.replaceChildren(h('main', {}, one.element));
  const drawn = new Set<Framed>([one]);
  expose([one], drawn);
  const failed = figure.kind === 'broken' ? figure.why : one.draw();
  if (failed) notReady(failed);
  else root.dataset.ready = '1';
}

/// Whoever takes the picture is told, so that it is no picture of a message.
function notReady(why: string): void {
  document.documentElement.dataset.error = why;
  document.documentElement.dataset.ready = 'error';
}

function exportId(): string | null {
  return /^export=(.+)$/.exec(fragment())?.[1] ?? null;
}

function start(): void {
  const id = exportId();
  startTheme(id !== null);
  const parsed = parseReport(document.getElementById('report-data')?.textContent ?? '');
  if ('error' in parsed) {
    window.strackReport = { figures: {}, data: () => null };
    buildMessage(parsed.error, parsed.hint);
    document.documentElement.dataset.drawn = '1';
    if (id !== null) notReady(parsed.error);
    return;
  }
  setRoles(parsed.report.roles);
  if (id !== null) showOne(parsed.report, id);
  else showAll(parsed.report);
  window.addEventListener('hashchange', () => {
    if (exportId() !== id) location.reload();
  });
}

/// Names are measured before they are drawn, so the page's own fonts have to be there first.
async function loadFonts(): Promise<void> {
  await Promise.allSettled([...document.fonts].map((font) => font.load()));
}

void loadFonts().then(start);
