// Numbers as people read them. Results arrive in microseconds, bytes and Gb/s; nothing here changes a value, only its
// unit and how many digits are shown.

export const kUnknown = 'n/a';

/// At most `digits` significant digits, never fewer than the integer part has, thousands apart.
export function digits(v: number, count = 4): string {
  if (!Number.isFinite(v)) return kUnknown;
  if (v === 0) return '0';
  const whole = Math.floor(Math.log10(Math.abs(v))) + 1;
  const decimals = Math.max(0, Math.min(12, count - whole));
  return v.toLocaleString('en-US', { maximumFractionDigits: decimals });
}

interface Step {
  from: number;
  factor: number;
  name: string;
}

const kTime: Step[] = [
  { from: 1e6, factor: 1e-6, name: 's' },
  { from: 1e3, factor: 1e-3, name: 'ms' },
  { from: 1e-1, factor: 1, name: 'µs' },
  { from: 0, factor: 1e3, name: 'ns' },
];

const kSize: Step[] = [
  { from: 1e9, factor: 1e-9, name: 'GB' },
  { from: 1e6, factor: 1e-6, name: 'MB' },
  { from: 1e3, factor: 1e-3, name: 'KB' },
  { from: 0, factor: 1, name: 'B' },
];

const kRate: Step[] = [
  { from: 1e4, factor: 1e-3, name: 'Tb/s' },
  { from: 0, factor: 1, name: 'Gb/s' },
];

function stepFor(steps: Step[], v: number): Step {
  const size = Math.abs(v);
  if (size === 0) return steps.find((s) => s.factor === 1)!;
  return steps.find((s) => size >= s.from)!;
}

function stepsOf(unit: string): Step[] | null {
  return unit === 'us' ? kTime : unit === 'B' ? kSize : unit === 'Gbps' ? kRate : null;
}

/// A value with its unit: "393.2 µs", "1.5 ms", "16 MB", "12.5 %". No line breaks between the two.
export function value(v: number | null | undefined, unit: string, count = 4): string {
  if (v === null || v === undefined || !Number.isFinite(v)) return kUnknown;
  const steps = stepsOf(unit);
  if (steps) {
    const step = stepFor(steps, v);
    return `${digits(v * step.factor, count)}\u00a0${step.name}`;
  }
  switch (unit) {
    case 'share': return `${digits(v * 100, count)}\u00a0%`;
    case 'x': return `${digits(v, count)}x`;
    case 'count': return digits(v, count);
    case '': return digits(v, count);
    default: return `${digits(v, count)}\u00a0${unit}`;
  }
}

/// The name of a message size. 4096 and 131072 are what people call 4 KB and 128 KB, and so is 128000.
export function sizeName(v: number): string {
  if (v >= 1024 && v % 1000 !== 0 && v % 1024 === 0) {
    const power = Math.min(3, Math.floor(Math.log2(v) / 10));
    const mantissa = v / 1024 ** power;
    if (Number.isInteger(mantissa) || power > 1) return `${digits(mantissa, 3)}\u00a0${['B', 'KB', 'MB', 'GB'][power]!}`;
  }
  return value(v, 'B', 3);
}

export interface AxisUnit {
  name: string;               ///< to stand behind the axis label, may be empty
  tick: (v: number) => string;
}

/// One unit for a whole linear axis, chosen by its largest value, so that ticks are bare numbers.
export function axisUnit(unit: string, largest: number): AxisUnit {
  const steps = stepsOf(unit);
  if (steps) {
    // A reader takes 1500 us as it is; from 2000 on the next unit is shorter.
    const step = stepFor(steps, Math.abs(largest) / 2 || 1);
    return { name: step.name, tick: (v) => digits(v * step.factor) };
  }
  if (unit === 'share') return { name: '%', tick: (v) => digits(v * 100) };
  if (unit === 'x') return { name: '', tick: (v) => `${digits(v)}x` };
  if (unit === 'count' || unit === '') return { name: '', tick: (v) => digits(v) };
  return { name: unit, tick: (v) => digits(v) };
}

/// The name of a unit as the heading of a column of unchanged numbers.
export function rawUnit(unit: string): string {
  switch (unit) {
    case 'us': return 'us';
    case 'B': return 'bytes';
    case 'Gbps': return 'Gb/s';
    default: return unit;
  }
}
