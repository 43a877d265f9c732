// Turns with a JSON body: read, parsed, run through the request rules, dispatched.
import type { Dispatch } from '../../dispatch/dispatch.ts';
import type { Accounting } from '../../keys/accounting.ts';
import { Refusal } from '../../turn/refusal.ts';
import { askForBody } from './expect-continue.ts';
import { HttpClient } from './http-client.ts';
import type { Answer, Exchange, Handler } from './http-turn.ts';
import { parseBody } from './json-body.ts';
import { type BodyOptions, readBody } from './request-body.ts';

export interface TurnTools extends Pick<BodyOptions, 'guard' | 'counters'> {
  readonly accounting: Accounting;
}

export function jsonTurns(dispatch: Dispatch, { accounting, ...tools }: TurnTools): Handler {
  return async ({ turn, request, response }: Exchange): Promise<Answer | undefined> => {
    checkMediaType(request.headers['content-type']);
    const { limits, timeouts } = turn.generation.config;
    const begin = (): void => askForBody(request, response);
    const work = { body: parseBody(await readBody(request, { limits, timeouts, ...tools, begin })) };
    turn.work = work;
    const asked = { ...work.body };
    const streams = work.body.stream === true ? 'stream' : 'answer';
    const ruling = turn.rules.request(work);
    if (ruling) await ruling;
    const reserved = accounting.reserve(turn, asked);
    if (reserved instanceof Refusal) throw reserved;
    turn.bill = reserved;
    const refused = await dispatch.run(turn, work, new HttpClient(turn, response, streams));
    return refused && { ...refused, headers: { ...refused.headers, 'x-request-id': turn.id } };
  };
}

/** A missing Content-Type counts as JSON on JSON rows (Q1). */
function checkMediaType(type: string | undefined): void {
  if (type === undefined) return;
  const essence = type.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (essence !== 'application/json' && !(essence.startsWith('application/') && essence.endsWith('+json'))) {
    throw new Refusal('unsupported_media_type');
  }
}
