// Reports made up for the tests of the page. The numbers look like results and are not: only their way into the page is
// tested here. The same seed gives the same report.

const kHostile = '</script><img src=x onerror="window.hacked=1">';

/// A small generator, so that a failing test can be repeated.
function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/// As the program has them.
const kRoles = Object.entries({ strack: 'blue', oblivious: 'green', 'single-path': 'pink', rocev2: 'orange', 'rocev2-4qp': 'amber' })
  .map(([name, colour]) => ({ name, colour }));

const round = (v, digits = 3) => Number(v.toFixed(digits));
const kSizes = [4096, 131072, 524288, 2097152, 16777216, 67108864, 100000000];

function maxFct(random) {
  const ideal = (size) => 8 + (size * 8) / 400e3 * 1.02;
  const spread = (y, by) => [round(y), round(y * (1 - by * random())), round(y * (1 + by * random()))];
  const series = (name, role, factor) => ({
    name, role, draw: 'line', points: kSizes.map((size) => [size, ...spread(ideal(size) * factor(size), 0.08)]),
  });
  return {
    id: 'P400-fct', kind: 'xy', title: 'Max FCT by message size, 400 Gb/s',
    caption: 'STrack stays near the ideal line at every size; RoCEv2 falls behind from 128 KB on. Whiskers: lowest and highest of three seeds.',
    notices: [],
    x: { label: 'message size', unit: 'B', scale: 'log' },
    y: { label: 'max FCT', unit: 'us', scale: 'log' },
    series: [
      series('STrack', 'strack', () => 1.16),
      series('STrack, oblivious spray', 'oblivious', (s) => (s < 1e7 ? 1.17 : 1.4)),
      series('RoCEv2', 'rocev2', (s) => (s < 1e5 ? 1.4 : 5.7)),
      { name: 'ideal', role: 'ideal', draw: 'line', points: kSizes.map((s) => [s, round(ideal(s))]) },
    ],
  };
}

function queueScatter(random) {
  const cloud = (count, top, until) => Array.from({ length: count }, () => {
    const t = random() * until;
    return [round(t, 2), round(random() ** 4 * top * (1 - (0.7 * t) / until), 3)];
  });
  return {
    id: 'ISLQ-scatter', kind: 'xy', title: 'Queueing delay of the inter-switch links',
    caption: 'Each point is one queue at one moment. STrack: nothing above 8 us after the first round trips.', notices: [],
    x: { label: 'time', unit: 'us', scale: 'linear' }, y: { label: 'queueing delay', unit: 'us', scale: 'linear' },
    series: [
      { name: 'RoCEv2', role: 'rocev2', draw: 'points', points: cloud(6000, 250, 2400) },
      { name: 'STrack', role: 'strack', draw: 'points', points: cloud(3000, 12, 420) },
    ],
    marks: [{ axis: 'y', at: 8, label: 'target 8 us' }, { axis: 'x', at: 370, label: '370 us' }],
  };
}

function throughput(random) {
  const bins = 60;
  const flow = (k) => ({
    name: `flow ${k}`, role: 'other', draw: 'step',
    points: Array.from({ length: bins }, (_, i) => {
      const y = Math.max(0, 12.5 + (random() - 0.5) * (i < 5 ? 20 : 1.2));
      return [i * 100, round(y), round(y * 0.95), round(y * 1.05)];
    }),
  });
  return {
    id: 'INT-rate', kind: 'xy', title: 'Throughput of eight flows, 100 us bins',
    caption: 'Every flow gets its fair share of 12.5 Gb/s within the first bins. Bands: spread over seeds.', notices: ['Only 8 of 32 flows were recorded.'],
    x: { label: 'time', unit: 'us', scale: 'linear' }, y: { label: 'throughput', unit: 'Gbps', scale: 'linear' },
    series: Array.from({ length: 8 }, (_, k) => flow(k)), marks: [{ axis: 'y', at: 12.5, label: 'fair share' }],
  };
}

function cdf(random) {
  const line = (name, role, from, width) => {
    const xs = Array.from({ length: 64 }, () => from + random() * width).sort((a, b) => a - b);
    return { name, role, draw: 'step', points: xs.map((x, i) => [round(x), round((i + 1) / 64, 6)]) };
  };
  return {
    id: 'ARCDF-cdf', kind: 'xy', title: 'Collective times of 64 jobs', caption: 'STrack: nearly the same time for all jobs.', notices: [],
    x: { label: 'collective time', unit: 'us', scale: 'linear' }, y: { label: 'share of jobs', unit: 'share', scale: 'linear' },
    series: [line('STrack', 'strack', 5900, 90), line('RoCEv2, 4 QPs', 'rocev2-4qp', 6100, 1700), line('RoCEv2', 'rocev2', 9000, 9000)],
  };
}

function sweep() {
  return {
    id: 'ABL-paths', kind: 'xy', title: 'Effect of max_paths', caption: 'More than 64 paths change little. The run with 8 paths is missing for RoCEv2.', notices: [],
    x: { label: 'max_paths', unit: '', scale: 'category' }, y: { label: 'slowdown', unit: 'x', scale: 'linear' },
    series: [
      { name: 'STrack', role: 'strack', draw: 'line', points: [['8', 1.9], ['16', 1.5], ['32', 1.3], ['64', 1.2], ['128', 1.18], ['256', 1.18]] },
      { name: 'STrack, one path', role: 'single-path', draw: 'points', points: [['8', 3.1], ['64', 3.1], ['256', 3.1]] },
      { name: 'RoCEv2', role: 'rocev2', draw: 'line', dashed: true, points: [['8', null], ['16', 5.1], ['32', 5], ['64', 5.2], ['128', 5], ['256', 5]] },
    ],
  };
}

function zeros() {
  return {
    id: 'LOG-zero', kind: 'xy', title: 'Drops by load', caption: 'A logarithmic axis has no zero.', notices: [],
    x: { label: 'load', unit: 'share', scale: 'linear' }, y: { label: 'drops', unit: 'count', scale: 'log' },
    series: [{ name: 'STrack', role: 'strack', draw: 'points', points: [[0.2, 0], [0.4, 0], [0.6, 30], [0.8, 1200], [0.9, 30000]] }],
  };
}

function bars(random) {
  const series = (name, role, values) => ({
    name, role, values, low: values.map((v) => v && round(v * (1 - 0.05 * random()), 1)),
    high: values.map((v) => v && round(v * (1 + 0.06 * random()), 1)),
  });
  return {
    id: 'AR-bars', kind: 'bars', title: 'AllReduce of 64 jobs', caption: 'The slowest of 64 collectives. DBT gains most.', notices: [],
    categories: ['DBT', 'Ring', 'Halving-doubling'], y: { label: 'max collective time', unit: 'us', scale: 'linear' },
    series: [
      series('STrack', 'strack', [6012.4, 5401.9, 5633.1]),
      series('RoCEv2, 4 QPs', 'rocev2-4qp', [7731, 6001.2, 6420]),
      series('RoCEv2', 'rocev2', [17820, 9120.5, null]),
    ],
    marks: [{ axis: 'y', at: 5243, label: 'lower bound, ring' }],
  };
}

function plainBars() {
  return {
    id: 'MOT-bars', kind: 'bars', title: 'RoCEv2 with one and four QPs', caption: 'Four QPs spread the load.', notices: [],
    categories: ['DBT', 'A2A/8', 'A2A/16', 'A2A/32'], y: { label: 'time', unit: 'us', scale: 'linear' },
    series: [
      { name: '1 QP', role: 'rocev2', values: [9100, 4100, 3900, 3600] },
      { name: '4 QPs', role: 'rocev2-4qp', values: [7100, 3300, 3100, 3000] },
      { name: 'one path', role: 'single-path', values: [9200, 4000, 3950, 3700] },
      { name: 'oblivious', role: 'oblivious', values: [6900, 3100, 3000, 2900] },
    ],
  };
}

/// Values of every link at every frame: `shape(tor, spine, frame share)` in 0..1.
function layer(id, label, unit, max, frames, tors, spines, shape) {
  const bytes = Buffer.alloc(frames * tors * spines);
  for (let f = 0; f < frames; ++f) {
    for (let t = 0; t < tors; ++t) {
      for (let s = 0; s < spines; ++s) {
        const v = Math.max(0, Math.min(1, shape(t, s, f / frames)));
        bytes[(f * tors + t) * spines + s] = Math.round(v * 255);
      }
    }
  }
  return { id, label, unit, max, encoding: 'u8', data: bytes.toString('base64') };
}

function fabric(random, id, tors, spines, frames) {
  const heat = Array.from({ length: tors * spines }, () => random());
  const hump = (x) => Math.max(0, Math.min(1, 12 * x, 6 * (1 - x)));
  const variant = (name, unfair, step, down) => ({
    name, tors, spines, times: Array.from({ length: frames }, (_, i) => round((i + 1) * step, 2)),
    layers: [
      layer('up-use', 'ToR to spine, utilisation', 'share', 1, frames, tors, spines,
        (t, s, x) => hump(x) * (unfair ? heat[t * spines + s] ** 2 * 1.6 : 0.86 + 0.1 * random())),
      layer('up-queue', 'ToR to spine, queue', 'us', unfair ? 250 : 9.5, frames, tors, spines,
        (t, s, x) => hump(x) * (unfair ? (heat[t * spines + s] > 0.86 ? heat[t * spines + s] : 0.03) : 0.5 * random() * (x < 0.2 ? 2 : 1))),
      ...(unfair ? [] : [layer('down-use', 'Spine to ToR, utilisation', 'share', 1, frames, tors, spines, (t, s, x) => hump(x) * 0.9)]),
    ],
    ...(down ? { down } : {}),
  });
  return {
    id, kind: 'fabric', title: 'The fabric, replayed', notices: [],
    caption: 'Each cell is one link between a ToR and a spine. STrack fills all of them alike; with RoCEv2 some are full while others idle.',
    variants: [
      variant('STrack', false, 5, [[3, 4], [3, 5], [7, 1]]),
      variant('RoCEv2', true, 14, [[3, 4], [3, 5], [7, 1]]),
    ],
  };
}

function senderFlow(random, name, role) {
  const samples = { t: [], cwnd: [], rtt: [], qdelay: [], gbps: [], ecn: [] };
  const events = { t: [], kind: [], path: [], psn: [], rtt: [], ecn: [], cwnd: [] };
  const add = (t, kind, path, psn, rtt, ecn, cwnd) => {
    events.t.push(round(t)); events.kind.push(kind); events.path.push(path); events.psn.push(psn);
    events.rtt.push(rtt); events.ecn.push(ecn); events.cwnd.push(cwnd);
  };
  let cwnd = 400000;
  let psn = 0;
  for (let t = 0; t < 400; t += 2) {
    const q = t < 40 ? t * 1.2 : 8 + 6 * Math.exp(-(t - 40) / 60) * Math.cos(t / 9) + random() * 2;
    cwnd = Math.max(4096, t < 60 ? cwnd * 0.94 : 22000 + 4000 * Math.sin(t / 17) + random() * 1500);
    samples.t.push(t); samples.cwnd.push(Math.round(cwnd)); samples.rtt.push(round(8 + q)); samples.qdelay.push(round(q));
    samples.gbps.push(round(12.5 + (random() - 0.5) * (t < 60 ? 9 : 1.5))); samples.ecn.push(q > 8 ? 1 : 0);
    for (let k = 0; k < 5; ++k) {
      add(t + k * 0.4, 0, Math.floor(random() * 256), psn, null, null, null);
      if (t > 8) add(t + k * 0.4 + 0.1, 2, Math.floor(random() * 256), Math.max(0, psn - 20), round(8 + q + random()), random() < (t < 80 ? 0.6 : 0.08) ? 1 : 0, Math.round(cwnd));
      ++psn;
    }
    if (t === 20 || t === 24 || t === 26) add(t, 4 - 1, 17, psn - 10, null, null, null);
    if (t === 30 || t === 34) add(t, 1, 99, psn - 30, null, null, null);
    if (t === 200) add(t, 4, null, null, null, null, null);
    if (t === 204) add(t, 5, 12, null, null, null, null);
  }
  return { name, role, samples, events, kinds: ['sent', 'resent', 'ack', 'loss', 'timeout', 'probe'], base_rtt: 8, target: 16, truncated: false };
}

function flows(random) {
  const rate = { t: [], rate: [], rtt: [], gbps: [] };
  for (let t = 0; t < 4000; t += 20) {
    rate.t.push(t); rate.rate.push(round(400 * Math.exp(-t / 900) + 12)); rate.rtt.push(round(8 + 3000 * Math.exp(-((t - 1500) ** 2) / 8e5)));
    rate.gbps.push(round(t % 400 < 120 ? 30 * random() : 0.4));
  }
  return {
    id: 'SIG-flow', kind: 'flow', title: 'Signals of one sender', notices: [],
    caption: 'A sender in an incast of 32: marks arrive while the RTT is still the base RTT, and the window falls to its fair share.',
    flows: [
      senderFlow(random, 'flow 0: host 17 to host 0, 16 MB, STrack', 'strack'),
      { name: 'flow 0: host 17 to host 0, 16 MB, RoCEv2', role: 'rocev2', samples: rate, events: null, kinds: [], base_rtt: 8, target: null, truncated: false },
      { ...senderFlow(random, 'flow 5: host 22 to host 0, 16 MB, STrack', 'strack'), truncated: true },
    ],
  };
}

function runs(random) {
  const out = [];
  for (const scheme of ['strack', 'strack-oblivious', 'rocev2']) {
    for (const seed of [1, 2, 3]) {
      const max = 393.2 * (scheme === 'rocev2' ? 5.7 : 1) * (1 + 0.02 * random());
      out.push({
        file: `results/paper/P400-${scheme}-${seed}.db`, name: 'permutation', scheme, seed, status: scheme === 'rocev2' && seed === 3 ? 'interrupted' : 'finished',
        partial: scheme === 'rocev2' && seed === 3, hosts: 8192, what: '8192 flows, 16 MB each', version: '0.1.0', max_us: round(max, 1),
        mean_us: round(max * 0.94, 1), p99_us: round(max * 0.99, 1), ideal_us: 333, slowdown: round(max / 333, 3),
        drops: scheme === 'rocev2' ? 0 : Math.floor(random() * 40), marks: Math.floor(random() * 1e6), retransmissions: Math.floor(random() * 40),
        pause_frames: scheme === 'rocev2' ? 120345 : 0, cpu_s: round(17.2 + random() * 40, 1),
        hash: 'a3f19c0d55e1b7'.split('').reverse().join('') + seed,
      });
    }
  }
  out.push({ file: 'results/old.db', name: 'incast', scheme: 'strack', seed: 1, status: 'finished', partial: false, hosts: 33, what: '32 flows, 16 MB each',
             version: '0.1.0', max_us: null, mean_us: null, p99_us: null, ideal_us: 10486, slowdown: null, drops: 0, marks: 12, retransmissions: 0,
             pause_frames: 0, cpu_s: 1.1, hash: 'ff00' });
  return out;
}

const kMade = { version: '0.1.0', commit: '0123456789abcdef0123', at: '2026-11-15T12:00:00Z', command: 'strack paper report' };

const section = (id, title, group, more) => ({
  id, title, group, verdict: null, claim: null, scale: null, checks: [], explanation: [], figures: [], tables: [], ...more,
});

/// Every kind of figure, table, verdict and notice.
export function richReport(seed = 1) {
  const random = randomFrom(seed);
  return {
    format: 1, roles: kRoles,
    title: 'STrack, reproduced',
    lead: ['Every claim of the paper, run again in simulation at the scale the paper gives, with the number it states beside ours.',
           'Made by `strack paper report`; each figure can be zoomed, and gives its numbers as a table and as CSV.'],
    made: kMade,
    notices: [
      { level: 'warning', text: 'results/paper/P400-rocev2-3.db: the run was interrupted at 1.9 ms of simulated time; its numbers are of the flows that finished.' },
      { level: 'info', text: 'A2A-OS4 was run with 512 NICs instead of 2048.' },
    ],
    sections: [
      section('P400', 'Permutation, 400 Gb/s', 'Synthetic traffic', {
        verdict: 'reproduced', claim: 'Every host sends to one other. STrack finishes up to 6.3 times earlier than RoCEv2, and adaptive spraying up to a third earlier than oblivious, from 16 MB on.',
        scale: '8192 hosts, seeds 1-3',
        checks: [
          { says: 'max FCT better than RoCEv2 by', paper: '6.3x', ours: '5.7x', spread: '5.6x to 5.9x', verdict: 'reproduced', rule: 'reproduced from 5.0x, partly from 3.0x' },
          { says: 'adaptive better than oblivious at 100 MB by', paper: '33 %', ours: '20.4 %', spread: '19 % to 22 %', verdict: 'partly', rule: 'reproduced from 25 %, partly from 10 %' },
        ],
        explanation: ['Our oblivious spray is a little better than the paper’s: its round robin starts at a random path. With the start fixed (`spray.start = 0`) the gap is 31 %.'],
        figures: [maxFct(random)],
        tables: [{ id: 'P400-table', title: 'Max FCT', columns: [{ name: 'size', align: 'left' }, { name: 'STrack (us)', align: 'right' }, { name: 'RoCEv2 (us)', align: 'right' }],
                   rows: [['16 MB', 393.2, 2241.7], ['100 MB', 2391.25, 13629.1], ['1 GB', 24000, null]] }],
      }),
      section('ISLQ', 'Queues between switches', 'Synthetic traffic', {
        verdict: 'partly', claim: 'With STrack no queue is above 8 us after 370 us; with RoCEv2 they reach 250 us.', scale: '8192 hosts, seed 1',
        checks: [{ says: 'highest delay after 370 us', paper: '8 us', ours: '11.2 us', spread: null, verdict: 'partly', rule: 'reproduced to 9 us, partly to 16 us' }],
        figures: [queueScatter(random), fabric(random, 'ISLQ-fabric', 32, 32, 40)],
      }),
      section('IN-T', 'Incast, throughput', 'Incast', {
        verdict: 'not', claim: 'Every flow gets a stable fair share.', scale: '33 hosts, seeds 1-3',
        checks: [{ says: 'Jain index of 8 flows', paper: '1.0', ours: '0.83', spread: '0.81 to 0.84', verdict: 'not', rule: 'reproduced from 0.98, partly from 0.95' }],
        figures: [throughput(random)],
      }),
      section('SIG', 'What one sender sees', 'Incast', {
        verdict: 'reproduced', claim: 'The first ack is marked while its RTT is still the base RTT.', scale: '33 hosts, seed 1',
        checks: [{ says: 'first ack is marked', paper: 'yes', ours: 'yes', spread: null, verdict: 'reproduced', rule: 'yes' }],
        figures: [flows(random)],
      }),
      section('AR', 'AllReduce, 64 jobs', 'Collectives', {
        verdict: 'open', claim: 'Up to 3 times better than RoCEv2 with one QP.', scale: null,
        checks: [{ says: 'better than RoCEv2 by', paper: '3x', ours: null, spread: null, verdict: 'open', rule: 'reproduced from 2.5x' }],
        figures: [bars(random), plainBars(), cdf(random)],
      }),
      section('ABL', 'Ablations', 'Beyond the paper', { figures: [sweep(), zeros()] }),
    ],
    runs: runs(random),
  };
}

/// A run that was interrupted, and figures for which nothing was recorded.
export function partialReport() {
  return {
    format: 1, roles: kRoles, title: 'small.db', lead: [], made: { version: '0.1.0' },
    notices: [{ level: 'warning', text: 'small.db: the run was interrupted; 3 of 64 flows finished.' }],
    sections: [section('run', 'small', '', {
      figures: [
        { id: 'p-xy', kind: 'xy', title: 'FCT', caption: 'Nothing finished.', notices: [], x: { label: 'time', unit: 'us', scale: 'linear' },
          y: { label: 'FCT', unit: 'us', scale: 'log' }, series: [{ name: 'STrack', role: 'strack', draw: 'line', points: [] }] },
        { id: 'p-null', kind: 'xy', title: 'FCT, not known', caption: 'Only unknown values.', notices: [], x: { label: 'time', unit: 'us', scale: 'linear' },
          y: { label: 'FCT', unit: 'us', scale: 'linear' }, series: [{ name: 'STrack', role: 'strack', draw: 'line', points: [[1, null]] }] },
        { id: 'p-one', kind: 'xy', title: 'One point', caption: 'A single result.', notices: [], x: { label: 'size', unit: 'B', scale: 'log' },
          y: { label: 'FCT', unit: 'us', scale: 'log' }, series: [{ name: 'STrack', role: 'strack', draw: 'line', points: [[4096, 9.1]] }] },
        { id: 'p-bars', kind: 'bars', title: 'Bars', caption: 'None.', notices: [], categories: ['a'], y: { label: 'y', unit: '' }, series: [{ name: 's', role: 'other', values: [null] }] },
        { id: 'p-fabric', kind: 'fabric', title: 'Fabric', caption: 'No frames.', notices: [], variants: [{ name: 'STrack', tors: 2, spines: 2, times: [], layers: [] }] },
        { id: 'p-short', kind: 'fabric', title: 'Fabric, cut', caption: 'A layer too short.', notices: [],
          variants: [{ name: 'STrack', tors: 2, spines: 2, times: [1], layers: [{ id: 'up-use', label: 'use', unit: 'share', max: 1, encoding: 'u8', data: 'AAA=' }] }] },
        { id: 'p-flow', kind: 'flow', title: 'Flow', caption: 'No samples.', notices: [], flows: [{ name: 'flow 0', role: 'strack', samples: {}, events: null, kinds: [], base_rtt: null, target: null, truncated: false }] },
        { id: 'p-none', kind: 'flow', title: 'No flows', caption: 'No flows.', notices: [], flows: [] },
        { id: 'p-new', kind: 'hologram', title: 'From the future', caption: 'Unknown kind.', notices: [] },
      ],
      tables: [{ id: 'p-table', title: 'Empty', columns: [{ name: 'a', align: 'left' }], rows: [] }],
    })],
    runs: [{ file: 'small.db', name: 'small', scheme: 'strack', seed: 1, status: 'interrupted', partial: true, hosts: 64, what: '64 flows', version: '0.1.0' }],
  };
}

export function emptyReport() {
  return { format: 1, title: 'Nothing', lead: [], made: {}, notices: [], sections: [], runs: [] };
}

/// Names that would run as a script if one of them was ever taken for markup.
export function hostileReport() {
  const x = kHostile;
  const report = JSON.parse(JSON.stringify(richReport(7)));
  report.title = x;
  report.lead = [x, '`' + x + '`'];
  report.made = { version: x, commit: x, at: x, command: x };
  report.notices = [{ level: 'warning', text: x }];
  for (const one of report.sections) {
    Object.assign(one, { title: x, group: x, claim: x, scale: x, explanation: [x] });
    for (const check of one.checks) Object.assign(check, { says: x, paper: x, ours: x, spread: x, rule: x });
    for (const table of one.tables) Object.assign(table, { title: x, columns: table.columns.map((c) => ({ ...c, name: x })), rows: [[x, x, x]] });
    for (const figure of one.figures) {
      Object.assign(figure, { title: x, caption: x, notices: [x] });
      for (const axis of [figure.x, figure.y]) if (axis) axis.label = x;
      (figure.series ?? []).forEach((s, i) => { s.name = `${x} ${i}`; });
      for (const mark of figure.marks ?? []) mark.label = x;
      for (const v of figure.variants ?? []) {
        v.name = x + v.name;
        for (const l of v.layers) l.label = x + l.id;
      }
      for (const f of figure.flows ?? []) f.name = x + f.name;
      if (figure.categories) figure.categories = figure.categories.map((c) => x + c);
    }
  }
  for (const run of report.runs) Object.assign(run, { name: x, scheme: x, what: x, file: x, status: x });
  return report;
}

/// A fabric of the paper's size with 80 frames, to see that the replay stays smooth.
export function largeReport() {
  const random = randomFrom(3);
  return { ...emptyReport(), title: 'Large', sections: [section('big', 'Large fabric', '', { figures: [fabric(random, 'big-fabric', 128, 64, 80)] })] };
}

/// Puts a report, or any text, into the page as the C++ side does.
export function fillPage(template, report) {
  const text = typeof report === 'string' ? report : JSON.stringify(report).replace(/</g, '\\u003c');
  return template.replace('/*REPORT_DATA*/', () => text);
}

/// Bars that lie: about as many as the paper has statements, some with long names, some with a spread.
export function lyingReport() {
  const names = ['Permutation at 400 Gb/s, the slowest flow against RoCEv2', '4:1 oversubscribed', 'Incast', 'All-to-all of 64 jobs with 32 connections',
                 'A name of far more than a hundred and fifty characters, which is more than two lines can hold, so that no reader would want to see it whole beside a bar in a picture of this width'];
  const categories = Array.from({ length: 18 }, (_, i) => (i < names.length ? names[i] : `statement ${i + 1}`));
  const ours = categories.map((_, i) => 1 + ((i * 37) % 50) / 10);
  return {
    format: 1, roles: kRoles, title: 'Lying bars', lead: [], made: {}, notices: [], runs: [],
    sections: [{ id: 'lying', title: 'Overview', group: 'Overview', verdict: null, claim: null, scale: null, checks: [], explanation: [], tables: [], figures: [{
      id: 'overview', kind: 'bars', horizontal: true, title: 'The paper, and here', caption: 'Each pair is one statement.', notices: [], categories,
      y: { label: 'times as fast', unit: 'x', scale: 'linear' }, marks: [{ axis: 'y', at: 1, label: 'as fast' }],
      series: [{ name: 'the paper', role: 'paper', values: categories.map((_, i) => 6 - (i % 5)) },
               { name: 'here', role: 'strack', values: ours, low: ours.map((v, i) => (i % 2 ? v * 0.9 : null)), high: ours.map((v, i) => (i % 2 ? v * 1.1 : null)) }] }] }],
  };
}

/// A heat map as wide and high as the league's: cells of every kind.
export function heatReport() {
  const columns = Array.from({ length: 20 }, (_, i) => `case number ${i + 1}`);
  const rows = Array.from({ length: 14 }, (_, i) => ({ name: i === 3 ? 'A transport with a long name' : `transport ${i + 1}`, note: i === 5 ? 'lossless, destination-rotation' : i % 3 ? 'lossy' : 'lossless' }));
  const cells = rows.map((_, i) => columns.map((_, k) => {
    if (i === 13 && k === 19) return { value: null, text: '', note: '' };
    if (i === 12 && k === 3) return { value: null, text: '>590', note: 'time limit; 3 of 128 flows left' };
    const value = 1 + ((i * 7 + k * 3) % 40) / 4;
    return { value, text: value.toFixed(2), note: `${value} times` };
  }));
  return {
    format: 1, title: 'Heat', lead: [], made: {}, notices: [], runs: [],
    sections: [{ id: 'league', title: 'At a glance', group: 'League', verdict: null, claim: null, scale: null, checks: [], explanation: [], tables: [], figures: [{
      id: 'heat', kind: 'heat', title: 'Everybody everywhere', caption: 'Darker is worse.', notices: [],
      value: { label: 'times over the bound', unit: 'x', scale: 'log' }, low: 1, high: 10, none: 'not finished', rows, columns, cells,
      groups: [{ name: 'Sizes', columns: 5 }, { name: 'Crowds', columns: 5 }, { name: 'Faults', columns: 5 }, { name: 'Jobs', columns: 5 }] }] }],
  };
}

/// A flow of so many packets that a chart might draw them bit by bit, and with events of every kind.
export function longFlowReport() {
  const kinds = ['sent', 'resent', 'ack', 'loss', 'timeout', 'probe', 'probe answer', 'nak', 'cnp', 'eclipse'];
  const events = { t: [], kind: [], path: [], psn: [], rtt: [], ecn: [], cwnd: [] };
  const add = (t, kind, path, more = {}) => {
    events.t.push(t);
    events.kind.push(kinds.indexOf(kind));
    events.path.push(path);
    for (const name of ['psn', 'rtt', 'ecn', 'cwnd']) events[name].push(more[name] ?? null);
  };
  for (let i = 0; i < 9000; ++i) {
    add(i * 0.04, 'sent', i % 64, { psn: i });
    if (i % 3 === 0) add(i * 0.04 + 8, 'ack', i % 64, { rtt: 8 + (i % 40) / 20, ecn: i % 30 === 0 ? 1 : 0 });
    if (i % 30 === 0) add(i * 0.04 + 0.01, 'cnp', null);
  }
  [['resent', 100], ['loss', 99], ['loss', 140], ['timeout', 150], ['probe', 160], ['probe answer', 168], ['nak', 98], ['eclipse', 200]]
    .forEach(([kind, t]) => add(t, kind, kind === 'resent' ? 7 : null));
  const t = Array.from({ length: 180 }, (_, i) => 2 * (i + 1));
  return {
    format: 1, roles: kRoles, title: 'A long flow', lead: [], made: {}, notices: [], runs: [],
    sections: [{ id: 'long', title: 'Long', group: '', verdict: null, claim: null, scale: null, checks: [], explanation: [], tables: [], figures: [{
      id: 'long-flow', kind: 'flow', title: 'One flow', caption: 'Packet by packet.', notices: [], flows: [{
        name: 'flow 0', role: 'strack', samples: { t, cwnd: t.map(() => 400000), gbps: t.map(() => 380) }, events, kinds,
        base_rtt: 8, target: 16, truncated: false }] },
    { id: 'long-points', kind: 'xy', title: 'Points', caption: 'Many.', notices: [], marks: [], x: { label: 'time', unit: 'us', scale: 'linear' },
      y: { label: 'queue', unit: 'us', scale: 'linear' },
      series: [{ name: 'links', role: 'strack', draw: 'points', points: Array.from({ length: 20000 }, (_, i) => [i / 50, (i * 7919) % 100]) }] }] }],
  };
}

/// A section that begins with its network, which fails; figures of every kind over time; and single runs to choose from.
/// A dragonfly from a file: all routers have hosts, and most links are between routers of a group.
export function dragonfly(groups, routers) {
  const switches = Array.from({ length: groups * routers }, (_, i) => ({ name: `g${Math.floor(i / routers)}r${i % routers}`, level: 0, place: i, hosts: 2 }));
  const links = [];
  for (let g = 0; g < groups; ++g) {
    for (let a = 0; a < routers; ++a) {
      for (let b = a + 1; b < routers; ++b) links.push({ a: g * routers + a, b: g * routers + b, count: 1, gbps: 400 });
    }
    for (let other = g + 1; other < groups; ++other) links.push({ a: g * routers + other % routers, b: other * routers + g % routers, count: 1, gbps: 400 });
  }
  return { levels: [switches.length], ring: true, rates: 'host links 400 Gbps', switches, links };
}

/// Leaves, spines in two planes, and links between the spines of a plane.
export function leafSpine(leaves, spines, kept = leaves) {
  const below = Array.from({ length: leaves }, (_, i) => i).filter((i) => i < kept || i === leaves - 1);
  const switches = [...below.map((place) => ({ name: `leaf${place}`, level: 0, place, hosts: 16 })),
                    ...Array.from({ length: spines }, (_, place) => ({ name: `a-spine-with-a-long-name-${place}`, level: 1, place, hosts: 0 }))];
  const links = below.flatMap((_, a) => Array.from({ length: spines }, (__, b) => ({ a, b: below.length + b, count: 2, gbps: 800 })));
  links.push({ a: below.length, b: below.length + 1, count: 1, gbps: 100 });
  return { levels: [leaves, spines], ring: false, rates: 'host links 100 Gbps to 400 Gbps', switches, links };
}

export function networkReport(network = {}) {
  const spans = [{ from: 20, until: 60, label: 'spine 3 down' }];
  const head = (id, title, more = {}) => ({ id, title, caption: `${title}, made up.`, notices: [], ...more });
  const time = { label: 'time', unit: 'us', scale: 'linear' };
  const ramp = (by) => Array.from({ length: 11 }, (_, i) => [10 * i, by * i]);
  const rate = (id) => ({
    ...head(id, 'Throughput', { spans }), kind: 'xy', x: time, y: { label: 'throughput', unit: 'Gbps', scale: 'linear' }, marks: [],
    series: [{ name: 'flow 0', role: 'other', draw: 'line', points: ramp(40) }, { name: 'flow 1', role: 'other', draw: 'line', points: ramp(20) }],
  });
  const flow = (name) => ({ name, role: 'strack', samples: { t: [10, 20, 90], cwnd: [4096, 8192, 4096] }, events: null, kinds: [], base_rtt: 8, target: 16, truncated: false });
  const layer = (id, unit) => ({ id, label: id, unit, max: 1, encoding: 'u8', data: Buffer.from(Array.from({ length: 2 * 2 * 3 }, (_, i) => i * 20)).toString('base64') });
  const section = (id, figures, more = {}) => ({ id, title: id, group: 'Run', verdict: null, claim: null, scale: null, checks: [], explanation: [], figures, tables: [], ...more });
  const table = { id: 'net-settings', title: 'Settings that were given', columns: [{ name: 'setting', align: 'left' }, { name: 'value', align: 'left' }],
                  rows: [['topology.hosts', '128'], ['workload.size', '2 MB']] };
  return {
    format: 1, title: 'A network', lead: [], made: {}, notices: [], roles: kRoles, runs: [],
    sections: [
      section('net', [
        { ...head('net-network', 'The network'), kind: 'topology', hosts: 128, hosts_per_rack: 16, racks: 8, pods: 0, uppers: 8, cores_per_agg: 0, parallel: 1,
          host_gbps: 400, fabric_gbps: 400, core_gbps: null,
          troubles: [{ down: true, from: 'spine 3', to: '', text: 'spine 3: down from 20 us to 60 us' },
                     { down: true, from: 'tor 2', to: 'spine 1', text: 'tor 2 to spine 1: down' },
                     { down: false, from: 'tor 5', to: 'spine 4', text: 'tor 5 to spine 4: 25 % of its rate' }], ...network },
        { ...head('net-bars', 'Times'), kind: 'bars', categories: ['max', 'mean'], y: { label: 'FCT', unit: 'us', scale: 'linear' }, marks: [],
          series: [{ name: 'STrack', role: 'strack', values: [50, 40] }, { name: 'RoCEv2', role: 'rocev2', values: [90, 60] }] },
        { ...head('net-cdf', 'Distribution'), kind: 'xy', x: { label: 'FCT', unit: 'us', scale: 'linear' }, y: { label: 'share', unit: 'share', scale: 'linear' }, marks: [],
          series: [{ name: 'STrack', role: 'strack', draw: 'step', points: [[30, 0], [50, 1]] }, { name: 'RoCEv2', role: 'rocev2', draw: 'step', points: [[30, 0], [90, 1]] }] },
        rate('net-rate'),
        { ...head('net-fabric', 'The fabric', { spans }), kind: 'fabric',
          variants: [{ name: 'STrack', tors: 2, spines: 3, times: [50, 100], layers: [layer('up-use', 'share'), layer('up-queue', 'us')], down: [] }] },
        { ...head('net-flows', 'Flows', { spans }), kind: 'flow', flows: [flow('flow 0, STrack'), flow('flow 1, STrack')] },
      ], { scenario: ['128 hosts in 8 racks of 16.'], settings: table }),
      section('net-a', [rate('net-a-rate')], { choice: 'net' }),
      section('net-b', [rate('net-b-rate')], { choice: 'net' }),
    ],
  };
}
