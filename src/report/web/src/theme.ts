// Light and dark. The reader's system decides until the toggle is used; paper and exported pictures are always light.

export type Theme = 'light' | 'dark';

let chosen: Theme | null = null;
let printing = false;
let forced = false;
const listeners: (() => void)[] = [];
const system = window.matchMedia('(prefers-color-scheme: dark)');

export function theme(): Theme {
  if (forced || printing) return 'light';
  return chosen ?? (system.matches ? 'dark' : 'light');
}

function apply(): void {
  document.documentElement.dataset.theme = theme();
  for (const listener of listeners) listener();
}

export function onTheme(listener: () => void): void {
  listeners.push(listener);
}

export function toggleTheme(): void {
  chosen = theme() === 'dark' ? 'light' : 'dark';
  apply();
}

export function setPrinting(on: boolean): void {
  if (printing === on) return;
  printing = on;
  apply();
}

export function isPrinting(): boolean {
  return printing;
}

export function startTheme(alwaysLight: boolean): void {
  forced = alwaysLight;
  system.addEventListener('change', apply);
  apply();
}

export interface Ink {
  text: string;
  muted: string;
  line: string;
  faint: string;
  surface: string;
  warn: string;
  bad: string;
}

const kLight: Ink = {
  text: '#1b2329', muted: '#56626d', line: '#c9d0d6', faint: '#e8ebee', surface: '#ffffff', warn: '#b35900', bad: '#b3261e',
};
const kDark: Ink = {
  text: '#e4e9ee', muted: '#a3afba', line: '#3b4651', faint: '#262e37', surface: '#161b21', warn: '#ffb454', bad: '#ff8a80',
};

export function ink(of: Theme = theme()): Ink {
  return of === 'dark' ? kDark : kLight;
}

// Okabe and Ito's colours, which people with any kind of colour vision can tell apart; lighter ones on dark ground. The
// dashes, symbols and patterns tell the schemes apart without any colour.
export interface Look {
  color: string;
  dash: number[] | 'solid';
  symbol: string;
  width: number;
  pattern?: Pattern;
}

export type Pattern = 'plain' | 'rising' | 'falling' | 'level' | 'dots';

interface RoleLook {
  light: string;
  dark: string;
  dash: number[] | 'solid';
  symbol: string;
  pattern: Pattern;
}

const kRoles: Record<string, RoleLook> = {
  'strack': { light: '#0072b2', dark: '#4fb0ee', dash: 'solid', symbol: 'circle', pattern: 'plain' },
  'oblivious': { light: '#00805e', dark: '#2fc79b', dash: [9, 3], symbol: 'triangle', pattern: 'rising' },
  'single-path': { light: '#b3568a', dark: '#e79ac8', dash: [2, 3], symbol: 'down', pattern: 'dots' },
  'rocev2': { light: '#c94f00', dark: '#ff8f4d', dash: [12, 3, 3, 3], symbol: 'rect', pattern: 'falling' },
  'rocev2-4qp': { light: '#b87a00', dark: '#f2bd3a', dash: [5, 3], symbol: 'diamond', pattern: 'level' },
  'paper': { light: '#b4bec6', dark: '#6f7c88', dash: [4, 4], symbol: 'none', pattern: 'plain' },
  'ideal': { light: '#6d7780', dark: '#98a4af', dash: [4, 4], symbol: 'none', pattern: 'plain' },
};

const kOthers: RoleLook[] = [
  { light: '#2b8fc9', dark: '#7cc8f5', dash: 'solid', symbol: 'circle', pattern: 'plain' },
  { light: '#c94f00', dark: '#ff8f4d', dash: [9, 3], symbol: 'triangle', pattern: 'falling' },
  { light: '#00805e', dark: '#2fc79b', dash: [5, 3], symbol: 'rect', pattern: 'rising' },
  { light: '#b3568a', dark: '#e79ac8', dash: [12, 3, 3, 3], symbol: 'diamond', pattern: 'dots' },
  { light: '#a67c00', dark: '#f2d04a', dash: [2, 3], symbol: 'plus', pattern: 'level' },
  { light: '#4b4f9e', dark: '#a9adf5', dash: [14, 4], symbol: 'down', pattern: 'plain' },
  { light: '#6d7780', dark: '#98a4af', dash: [3, 5], symbol: 'circle', pattern: 'falling' },
  { light: '#7a4a21', dark: '#c79a6d', dash: [8, 3, 2, 3, 2, 3], symbol: 'rect', pattern: 'rising' },
];

/// The look of each series of one figure, in order. The same role looks the same in every figure; series that share a role
/// (two seeds, say) differ by dash and symbol.
export function looks(series: { role: string; dashed?: boolean }[], of: Theme = theme()): Look[] {
  let others = 0;
  const used = new Map<string, number>();
  return series.map((one) => {
    const known = kRoles[one.role];
    const base = known ?? kOthers[others++ % kOthers.length]!;
    const before = known ? used.get(one.role) ?? 0 : 0;
    used.set(one.role, before + 1);
    const again = before > 0 ? kOthers[before % kOthers.length]! : base;
    const dash = one.dashed ? [6, 4] : again.dash;
    return { color: base[of], dash, symbol: known && before > 0 ? again.symbol : base.symbol,
             width: one.role === 'strack' ? 2.5 : one.role === 'ideal' ? 1.5 : 2, pattern: again.pattern };
  });
}
