// Members that an account refused although no client asked for them. They are left out of requests for that model for an hour (AA30).
import { RecentEntries } from '../../base/bytes/recent-entries.ts';
import type { Failure } from '../../turn/errors/failure.ts';
import { isObject } from '../../turn/json/json.ts';
import type { Body } from '../../turn/turn.ts';

/** Members that the gateway adds, or that a client does not depend on. */
const DISPENSABLE = ['include', 'reasoning', 'reasoning.summary'] as const;

export type DispensableMember = (typeof DISPENSABLE)[number];

export type RefusedMembers = Pick<ReadonlySet<DispensableMember>, 'has'>;

const REMEMBERED_MS = 3_600_000;
/** The most pairs of an account and its own id of a model. */
const CAPACITY = 1_000;

const NOTHING: RefusedMembers = new Set();

interface Refusals {
  /** The time until which a member is left out, in Unix milliseconds. */
  readonly until: Map<DispensableMember, number>;
}

/** Each process learns this itself, because asking again costs one refused request. */
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

/** The key of an entry. The id of an account contains no line break. */
const nameOf = (account: string, model: string): string => `${account}\n${model}`;

/** The member that a refusal names, if it was sent; otherwise undefined. @param sent the body that was refused */
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

/** The member that the param of an error names. An unknown effort is the client's own fault, unless the model does not reason at all. */
function memberAt(param: string, code: string | null): DispensableMember | undefined {
  const path = param.replace(/^body\./, '');
  if (/^include\b/.test(path)) return 'include';
  if (/^reasoning\.summary\b/.test(path)) return 'reasoning.summary';
  if (path === 'reasoning') return 'reasoning';
  return path === 'reasoning.effort' && code === 'unsupported_parameter' ? 'reasoning' : undefined;
}

/** The member that the text of an error names, as some servers do. */
function memberIn(message: string): DispensableMember | undefined {
  if (/encrypted[_ ]content/i.test(message) || /[`'"]include[`'"]/.test(message)) return 'include';
  if (/reasoning[._ ]summar/i.test(message)) return 'reasoning.summary';
  return /(?:unsupported|unknown|unrecognized|not support|extra|unexpected)[^.]{0,80}\breasoning\b/i.test(message)
    ? 'reasoning'
    : undefined;
}
