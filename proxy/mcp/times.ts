// Times in arguments and answers of tools. Models read and write ISO 8601, and ask for the last hours and days.
import { msOfIso } from '../base/time/iso-time.ts';
import { type Schema, text } from '../turn/json/field-schemas.ts';
import { ToolError } from './tool.ts';

const AGO = /^(\d{1,5})(m|h|d)$/;
const MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The form of a time argument. */
export const INSTANT = '^(\\d{1,5}[mhd]|\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?(Z|[+-]\\d{2}:\\d{2}))?)$';

/** The schema of a time argument: an instant, or a duration before now. */
export const instant = (description: string): Schema<string> =>
  text(`${description} An ISO 8601 time such as 2026-01-31T12:00:00Z, or a duration before now: 30m, 24h, 7d.`, {
    pattern: INSTANT,
  });

/** Unix milliseconds. @throws ToolError */
export function msOf(written: string, now: number): number {
  const [, count, unit = ''] = AGO.exec(written) ?? [];
  const at = count === undefined ? msOfIso(written) : now - Number(count) * (MS[unit] ?? 0);
  if (Number.isNaN(at)) throw new ToolError(`there is no time ${written}`);
  return at;
}

export const iso = (ms: number): string => new Date(ms).toISOString();

/** The latest instant of a Date. A provider may state a later one. */
const LATEST_MS = 8.64e15;

export const isoOrNull = (ms: number | null | undefined): string | null =>
  ms === null || ms === undefined || !(Math.abs(ms) <= LATEST_MS) ? null : iso(ms);
