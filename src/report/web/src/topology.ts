// The network as a drawing: racks below spines, or pods below cores. Of more switches than fit, those with something wrong
// are drawn, the first ones and the last; dots stand for the rest. Networks from files: graph.ts.

import { canvasBlob } from './chart';
import type { Topology, Trouble } from './data';
import { h, s } from './dom';
import { Drawing, kSwitch, picked, row, type Place } from './drawing';
import { drawGraph, graphRows } from './graph';
import { ink, theme, type Theme } from './theme';
import { digits, value } from './units';
import { kPaper, type View } from './view';

const kMostTold = 8;

/// Numbers of the switches of a tier that troubles name.
function named(fig: Topology, tier: string): Set<number> {
  const out = new Set<number>();
  for (const t of fig.troubles) {
    for (const name of [t.from, t.to]) {
      const found = new RegExp(`^${tier} (\\d+)$`).exec(name);
      if (found) out.add(Number(found[1]));
    }
  }
  return out;
}

function twoTiers(fig: Topology, width: number, of: Theme): Drawing {
  const d = new Drawing(width, 232, fig, of);
  const wide = width < 500 ? 44 : kSwitch.width;
  const most = Math.max(3, Math.floor((width - 16) / (wide + kSwitch.gap)));
  const spines = row(picked(fig.uppers, most, named(fig, 'spine')), 8, width - 16, 34);
  const tors = row(picked(fig.racks, most, named(fig, 'tor')), 8, width - 16, 168);
  for (const a of tors.places) for (const b of spines.places) d.link(`tor ${a.index}`, `spine ${b.index}`, a, b);
  for (const b of spines.places) d.box(`spine ${b.index}`, wide < 50 ? `S${b.index}` : `spine ${b.index}`, b, wide);
  for (const a of tors.places) {
    d.box(`tor ${a.index}`, `ToR ${a.index}`, a, wide);
    hostsBelow(d, fig, a, wide, of);
  }
  d.dots(spines.dots, 'spines');
  d.dots(tors.dots, 'racks');
  return d;
}

function hostsBelow(d: Drawing, fig: Topology, tor: Place, wide: number, of: Theme): void {
  const c = ink(of);
  const broken = [...named(fig, 'host')].filter((host) => Math.floor(host / fig.hosts_per_rack) === tor.index);
  const text = wide < 50 ? digits(fig.hosts_per_rack) : `${digits(fig.hosts_per_rack)} hosts`;
  d.text(tor.x, tor.y + 34, text, 11.5);
  if (broken.length > 0) d.text(tor.x, tor.y + 50, broken.length === 1 ? `host ${broken[0]}` : `${broken.length} bad`, 11, 'middle', c.bad);
}

function threeTiers(fig: Topology, width: number, of: Theme): Drawing {
  const d = new Drawing(width, 318, fig, of);
  const c = ink(of);
  const badAggs = named(fig, 'agg');
  const badTors = named(fig, 'tor');
  const racksPerPod = Math.max(1, Math.round(fig.racks / Math.max(1, fig.pods)));
  const badPods = new Set([...[...badAggs].map((a) => Math.floor(a / fig.uppers)), ...[...badTors].map((t) => Math.floor(t / racksPerPod))]);
  const wide = 46;
  const pods = row(picked(fig.pods, Math.max(1, Math.floor(width / 190)), badPods), 4, width - 8, 200);
  const podWidth = (width - 8) / Math.max(1, pods.places.length + pods.dots.length * 0.7) - 14;
  const inPod = Math.max(2, Math.floor((podWidth - 10) / (wide + 8)));

  const aggs: { place: Place; within: number }[] = [];
  const shownAggs = new Set<number>();
  const tors: Place[][] = [];
  for (const pod of pods.places) {
    const left = pod.x - podWidth / 2;
    const first = pod.index * fig.uppers;
    const upper = row(picked(fig.uppers, inPod, new Set([...badAggs].map((a) => a - first).filter((a) => a >= 0 && a < fig.uppers))), left + 5, podWidth - 10, 164);
    const base = pod.index * racksPerPod;
    const lower = row(picked(racksPerPod, inPod, new Set([...badTors].map((t) => t - base).filter((t) => t >= 0 && t < racksPerPod))), left + 5, podWidth - 10, 236);
    d.svg.prepend(s('rect', { x: left, y: 136, width: podWidth, height: 158, rx: 9, fill: 'none', stroke: c.line, 'stroke-width': 1.2 }));
    d.text(pod.x, 312, `pod ${pod.index}`, 12, 'middle', c.text);
    const mine: Place[] = [];
    for (const place of upper.places) {
      shownAggs.add(place.index);
      mine.push({ ...place, index: first + place.index });
      aggs.push({ place: { ...place, index: first + place.index }, within: place.index });
    }
    const below = lower.places.map((place) => ({ ...place, index: base + place.index }));
    for (const a of below) for (const b of mine) d.link(`tor ${a.index}`, `agg ${b.index}`, a, b);
    tors.push(below);
    d.dots(upper.dots, 'aggregation switches');
    d.dots(lower.dots, 'racks');
  }
  const cores = fig.uppers * fig.cores_per_agg;
  const must = new Set([...named(fig, 'core'), ...[...shownAggs].map((a) => a * fig.cores_per_agg)]);
  const top = row(picked(cores, Math.max(3, Math.floor((width - 16) / (wide + kSwitch.gap))), must), 8, width - 16, 34);
  for (const { place, within } of aggs) {
    for (const core of top.places) {
      if (Math.floor(core.index / fig.cores_per_agg) === within) d.link(`agg ${place.index}`, `core ${core.index}`, place, core);
    }
  }
  for (const core of top.places) d.box(`core ${core.index}`, `C${core.index}`, core, wide);
  for (const { place } of aggs) d.box(`agg ${place.index}`, `A${place.index}`, place, wide);
  for (const pod of tors) {
    for (const tor of pod) {
      d.box(`tor ${tor.index}`, `T${tor.index}`, tor, wide);
      hostsBelow(d, fig, tor, wide, of);
    }
  }
  d.dots(top.dots, 'cores');
  d.dots(pods.dots, 'pods');
  return d;
}

function draw(fig: Topology, width: number, of: Theme): Drawing {
  if (fig.graph) return drawGraph(fig, fig.graph, width, of);
  return fig.pods > 0 ? threeTiers(fig, width, of) : twoTiers(fig, width, of);
}

function rates(fig: Topology): string {
  if (fig.graph) return fig.graph.rates;
  const parts: string[] = [];
  if (fig.host_gbps !== null) parts.push(`host links ${value(fig.host_gbps, 'Gbps')}`);
  if (fig.fabric_gbps !== null) {
    parts.push(`${fig.pods > 0 ? 'ToR to aggregation' : 'ToR to spine'} ${fig.parallel > 1 ? `${fig.parallel} x ` : ''}${value(fig.fabric_gbps, 'Gbps')}`);
  }
  if (fig.core_gbps !== null) parts.push(`aggregation to core ${value(fig.core_gbps, 'Gbps')}`);
  if (fig.pods > 0) parts.push('C core, A aggregation, T ToR, with its hosts below');
  return parts.join(' · ');
}

function troubleList(all: Trouble[]): HTMLElement | null {
  if (all.length === 0) return null;
  const line = (t: Trouble) => h('li', { class: t.down ? 'trouble-down' : 'trouble-bad' }, t.text);
  const rest = all.slice(kMostTold);
  return h('div', {}, h('ul', { class: 'troubles' }, ...all.slice(0, kMostTold).map(line)),
    rest.length > 0 ? h('details', { class: 'troubles-more' }, h('summary', {}, `${digits(rest.length)} more`), h('ul', { class: 'troubles' }, ...rest.map(line))) : null);
}

export function topologyView(fig: Topology): View {
  const box = h('div', { class: 'topology', role: 'img', 'aria-label': fig.caption || fig.title });
  const words = rates(fig);
  const body = h('div', { class: 'chart-body' }, box, words ? h('p', { class: 'topology-rates' }, words) : null, troubleList(fig.troubles));
  const paint = () => { box.replaceChildren(draw(fig, Math.max(280, box.clientWidth || 900), theme()).svg); };
  const paper = () => {
    const svg = draw(fig, 960, kPaper).svg;
    svg.prepend(s('rect', { width: '100%', height: '100%', fill: '#ffffff' }));
    return new XMLSerializer().serializeToString(svg);
  };
  const cores = fig.uppers * fig.cores_per_agg;
  const table = () => {
    const rows: (string | number | null)[][] = [['hosts', fig.hosts, '']];
    if (!fig.graph) rows.push(['racks', fig.racks, `${fig.hosts_per_rack} hosts each`]);
    if (fig.graph) {
      rows.push(...graphRows(fig.graph));
    } else if (fig.pods > 0) {
      rows.push(['pods', fig.pods, ''], ['aggregation switches', fig.pods * fig.uppers, `${fig.uppers} in each pod`], ['cores', cores, '']);
    } else {
      rows.push(['spines', fig.uppers, fig.parallel > 1 ? `${fig.parallel} links from each ToR` : '']);
    }
    for (const t of fig.troubles) rows.push([t.down ? 'failure' : 'impairment', t.to ? `${t.from} to ${t.to}` : t.from, t.text]);
    return { columns: ['what', 'count or ends', 'note'], count: rows.length, rows: () => rows };
  };
  return {
    body, tools: [], hasData: fig.racks > 0 || (fig.graph?.switches.length ?? 0) > 0, remarks: [],
    draw: paint, resize: paint,
    data: () => ({
      switches: Array.from(box.querySelectorAll('svg g g text')).map((t) => t.textContent ?? ''),
      bad: box.querySelectorAll('svg path[stroke-dasharray]').length,
      troubles: fig.troubles.map((t) => t.text),
    }),
    shown: table,
    all: () => ({ name: fig.id, table: table() }),
    async png() {
      const picture = new Image();
      const source = paper();
      picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;
      await picture.decode();
      const canvas = document.createElement('canvas');
      canvas.width = 2 * picture.width;
      canvas.height = 2 * picture.height;
      canvas.getContext('2d')!.drawImage(picture, 0, 0, canvas.width, canvas.height);
      return canvasBlob(canvas);
    },
    svg: paper,
  };
}
