// The client of a planned turn: it reads the complete reply, or leaves at the planned point.
import { until } from '../../support/until.ts';
import { connect } from '../../support/websocket.ts';
import type { ClientRoute, Sent } from './client-routes.ts';
import { type Leaving, lastWord } from './deliveries.ts';
import { type KeyName, type Planned, type Stage, secretOf } from './stage.ts';

export interface Visit {
  readonly route: Pick<ClientRoute, 'path' | 'carrier'>;
  readonly key: KeyName;
  readonly sent: Sent;
  /** Undefined if the client stays to the end. */
  readonly leaves?: Leaving | undefined;
}

/** Resolves when the client has the whole reply, or has left. */
export function visit(stage: Stage, planned: Planned, { route, ...visit }: Visit): Promise<void> {
  return route.carrier === 'http' ? overHttp(stage, planned, { route, ...visit }) : overWebsocket(stage, planned, { route, ...visit });
}

/** A turn that is refused, or that has no retries left, never reaches its last attempt. */
const lastAttempt = (planned: Planned, isOver: () => boolean): Promise<true> =>
  until(`the last attempt of turn ${planned.id}`, () => planned.arrived === planned.attempts.length || isOver() || undefined);

async function overHttp({ gate }: Stage, planned: Planned, { route, key, sent, leaves }: Visit): Promise<void> {
  const leaving = new AbortController();
  let over = false;
  const { body, headers = {} } = sent;
  const answering = gate
    .fetch(route.path, { body, headers: { ...headers, authorization: `Bearer ${secretOf(key)}` }, signal: leaving.signal })
    .then((response) => taken(response, leaves === 'after output' ? lastWord(planned.id) : undefined))
    // The promise rejects if a reply breaks off, or if the client leaves.
    .catch(() => undefined)
    .finally(() => {
      over = true;
    });
  if (leaves === 'at once') await lastAttempt(planned, () => over);
  else await answering;
  leaving.abort();
  await answering;
}

/** Resolves at the end of the body, or when it has this text. */
async function taken(response: Response, end: string | undefined): Promise<void> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (end !== undefined && text.includes(end)) return;
  }
}

async function overWebsocket(stage: Stage, planned: Planned, { route, key, sent, leaves }: Visit): Promise<void> {
  using socket = await connect(stage.gate, route.path, { key: secretOf(key) });
  socket.send(JSON.stringify(sent.body));
  let over = false;
  const ended = socket
    .rest()
    // The connection closes when a reply breaks off.
    .catch(() => undefined)
    .finally(() => {
      over = true;
    });
  if (leaves === undefined) await ended;
  else if (leaves === 'at once') await lastAttempt(planned, () => over);
  else {
    const word = lastWord(planned.id);
    await until(`the output of turn ${planned.id}`, () => over || JSON.stringify(socket.frames).includes(word) || undefined);
  }
}
