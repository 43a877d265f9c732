// The version of a native client. Providers list and serve models by it (RB1, RB2).
import type { Json } from '../json/json.ts';
import type { Headers } from '../turn.ts';

/** A version as three numbers. A pre-release suffix is ignored, because a list request states the version without it. */
export type ClientVersion = readonly [number, number, number];

const VERSION = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:[-+].*)?$/;

/** Undefined if the text is not a version of three numbers. */
export function parseVersion(text: string | undefined): ClientVersion | undefined {
  const parts = text === undefined ? null : VERSION.exec(text.trim());
  return parts ? [Number(parts[1]), Number(parts[2]), Number(parts[3])] : undefined;
}

/** The version in a model entry, which may be a text or a list of three numbers. */
export function statedVersion(value: Json | undefined): ClientVersion | undefined {
  if (Array.isArray(value)) return parseVersion(value.join('.'));
  return typeof value === 'string' ? parseVersion(value) : undefined;
}

/** Negative if `a` is older than `b`, positive if it is newer, 0 if they are equal. */
export function compareVersions(a: ClientVersion, b: ClientVersion): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

/** A version that a native client states, as it is written there and as numbers. */
export interface StatedVersion {
  readonly text: string;
  readonly numbers: ClientVersion;
}

/** The version that these headers of a native client state: in the header `version`, otherwise in the user agent. */
export const versionIn = (headers: Headers): StatedVersion | undefined => versionOf(headers.version) ?? versionOf(agentVersion(headers));

function versionOf(text: string | undefined): StatedVersion | undefined {
  const numbers = parseVersion(text);
  return text === undefined || numbers === undefined ? undefined : { text: text.trim(), numbers };
}

const AGENT_VERSION = /[^\s;()]*/y;

/**
 * The version in the user agent of a native client, which begins with its originator: `<originator>/0.169.0 (…)`. The user agent of another
 * program has the version of that program.
 */
function agentVersion({ originator, 'user-agent': agent }: Headers): string | undefined {
  if (!originator || !agent?.startsWith(originator) || agent[originator.length] !== '/') return undefined;
  AGENT_VERSION.lastIndex = originator.length + 1;
  return AGENT_VERSION.exec(agent)?.[0];
}
