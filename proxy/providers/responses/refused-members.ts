// What an account has refused of its models' requests although no client asked for it: left out for an hour (AA30).
import { RecentEntries } from '../../base/bytes/recent-entries.ts';
import type { Failure } from '../../turn/errors/failure.ts';
import { isObject } from '../../turn/json/json.ts';
import type { Body } from '../../turn/turn.ts';

/** The members that the gateway adds, or that a client can do without. */
export const DISPENSABLE = ['include', 'reasoning', 'reasoning.summary'] as const;

export type DispensableMember = (typeof DISPENSABLE)[number];

export type RefusedMembers = Pick<ReadonlySet<DispensableMember>, 'has'>;

const REMEMBERED_MS = 3_600_000;
/** Pairs of account and own id. */
const CAPACITY = 1_000;

const NOTHING: RefusedMembers = new Set();

interface Refusals {
  /** Unix milliseconds, by member. */
  readonly until: Map<DispensableMember, number>;
}

/** Each process finds out for itself: asking again costs one refused request. */
export class RefusedMemory {
  readonly #now: () => number;
  readonly #byModel = new RecentEntries<Refusals>(CAPACITY);

  constructor(now: () => number) {
    this.#now = now;
  }

  of(account: string, model: string): RefusedMembers {
    const known = this.#byModel.get(nameOf(account, model));
    if (!known) return NOTHING;
    const now = this.#now();
    return { has: (member) => (known.until.get(member) ?? 0) > now };
  }

  learn(account: string, model: string, member: DispensableMember): void {
    const name = nameOf(account, model);
    const known = this.#byModel.get(name) ?? { until: new Map() };
    known.until.set(member, this.#now() + REMEMBERED_MS);
    this.#byModel.set(name, known);
  }
}

/** No id of an account contains a line break. */
const nameOf = (account: string, model: string): string => `${account}\n${model}`;

/**
 * The member that a refusal is about, and that was sent; undefined for one that is about anything else.
 * @param sent the body that was refused
 */
export function refusedMember(failure: Failure, sent: Body): DispensableMember | undefined {
  const { status, cause, error } = failure;
  if (cause !== 'request' && cause !== 'model') return undefined;
  if (status !== undefined && status !== 200 && status !== 400 && status !== 422) return undefined;
  const member = error.param === null || error.param === '' ? memberIn(error.message ?? '') : memberAt(error.param, error.code);
  return member !== undefined && isSent(member, sent) ? member : undefined;
}

function isSent(member: DispensableMember, { include, reasoning }: Body): boolean {
  if (member === 'include') return include !== undefined;
  return member === 'reasoning' ? reasoning !== undefined : isObject(reasoning) && reasoning.summary !== undefined;
}

/** An effort that a model does not know is the client's; a model that has no effort at all does not reason. */
function memberAt(param: string, code: string | null): DispensableMember | undefined {
  const path = param.replace(/^body\./, '');
  if (/^include\b/.test(path)) return 'include';
  if (/^reasoning\.summary\b/.test(path)) return 'reasoning.summary';
  if (path === 'reasoning') return 'reasoning';
  return path === 'reasoning.effort' && code === 'unsupported_parameter' ? 'reasoning' : undefined;
}

/** Some servers name a member in words alone. */
function memberIn(message: string): DispensableMember | undefined {
  if (/encrypted[_ ]content/i.test(message) || /[`'"]include[`'"]/.test(message)) return 'include';
  if (/reasoning[._ ]summar/i.test(message)) return 'reasoning.summary';
  return /(?:unsupported|unknown|unrecognized|not support|extra|unexpected)[^.]{0,80}\breasoning\b/i.test(message)
    ? 'reasoning'
    : undefined;
}
