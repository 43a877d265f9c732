// How a Responses account compacts: on its compact path, with a turn that ends in a trigger, or with a turn that asks for a summary (AA34,
// AA48).
import { asList, isObject, type Json } from '../../turn/json/json.ts';
import type { LiveTurn } from '../../turn/live-turn.ts';
import type { ApiAccountConfig } from '../../turn/provider/api-account.ts';
import type { Emit, EventHandler } from '../../turn/provider/provider-replies.ts';
import { ReplyEvent } from '../../turn/reply/reply-event.ts';
import { isCompaction } from '../../turn/routes/kinds.ts';
import { asksForCompaction, COMPACTION_TRIGGER, isTrigger } from '../../turn/trigger-item.ts';
import type { Body, Outgoing } from '../../turn/turn.ts';
import { summaryRequest } from '../api-accounts/compaction/summary-request.ts';
import { publicItems } from './input-items.ts';
import { fittedTools, type ToolOptions } from './lowered-tools.ts';

export type ResponsesCompactWay = Exclude<ApiAccountConfig['compact'], 'none'>;

/** Statuses of a server without a compact path. */
const ABSENT: ReadonlySet<number | undefined> = new Set([404, 405, 501]);

const MISSING_MS = 3_600_000;

/** The accounts that answered that they have no compact path. Each process learns this itself, and asks again after an hour. */
export class CompactRoutes {
  readonly #now: () => number;
  /** When an account is asked again, in Unix milliseconds, by account and address. */
  readonly #missing = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** @param carrier a websocket has no paths, so a turn that can only go there asks for a summary in place of the path */
  wayOf(account: ApiAccountConfig, carrier: Outgoing['carrier']): ResponsesCompactWay {
    const way = account.compact === 'none' ? 'summary' : account.compact;
    if (way !== 'route') return way;
    return carrier === 'websocket' || (this.#missing.get(nameOf(account)) ?? 0) > this.#now() ? 'summary' : way;
  }

  /** @returns whether the status means that the account has no compact path */
  refused(account: ApiAccountConfig, status: number | undefined): boolean {
    if (!ABSENT.has(status)) return false;
    this.#missing.set(nameOf(account), this.#now() + MISSING_MS);
    return true;
  }
}

const nameOf = ({ id, base_url }: ApiAccountConfig): string => `${id}\n${base_url}`;

/** Whether the turn asks for a compaction, by its kind or, on native routes, by a trigger, which is moved to the end of its input. */
export const asksToCompact = ({ route }: Pick<LiveTurn, 'route'>, body: Body): boolean =>
  isCompaction(route.kind) || asksForCompaction(body);

const withoutTrigger = ({ input }: Body): readonly Json[] => asList(input).filter((item) => !isTrigger(item));

/** A turn that compacts. @param way undefined for any other turn */
export function asCompaction(body: Body, way: ResponsesCompactWay | undefined): Body {
  if (way === undefined) return body;
  return way === 'summary' ? summaryRequest(body) : { ...body, input: [...withoutTrigger(body), COMPACTION_TRIGGER] };
}

/** The body for the compact path, which takes no other members. Its items have the form that they have in a turn of the account. */
export function compactBody(body: Body, options: ToolOptions): Body {
  const { model, instructions } = body;
  const { account, adapted } = options;
  const items = (): readonly Json[] =>
    publicItems(asList(fittedTools({ ...body, input: withoutTrigger(body) }, options).input), {
      itemIds: account.quirks.item_ids === 'required',
      adapted,
    });
  const input = typeof body.input === 'string' ? body.input : items();
  return { model, input, ...(typeof instructions === 'string' && instructions !== '' ? { instructions } : {}) };
}

/** Turns the answer of the compact path into events. They contain the compaction, without the messages that the path repeats. */
export class CompactionAlone implements EventHandler {
  event(event: ReplyEvent, emit: Emit): void {
    const data = event.hasData ? event.json() : undefined;
    const isAnswer = data !== undefined && !isObject(data.error) && Array.isArray(data.output);
    if (!data || !isAnswer) {
      emit(event);
      return;
    }
    const output = asList(data.output).filter((item) => isObject(item) && String(item.type).startsWith('compaction'));
    const whole = ReplyEvent.of({ ...data, object: 'response', status: 'completed', output });
    // A whole answer is an event without a type.
    whole.type = '';
    emit(whole);
  }
}
