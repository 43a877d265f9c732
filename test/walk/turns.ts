// The turns whose walks are counted: one for each surface, with the simulated provider, from the request to the end of the reply.
import { setImmediate } from 'node:timers/promises';
import { systemClock } from '../../proxy/base/time/clock.ts';
import { startGateway } from '../support/gateway.ts';
import { frameOf, NATIVE_SOCKET } from '../support/native-frames.ts';
import { turnBody } from '../support/rehearsal-replies.ts';
import { CHAT, turnOn } from '../support/turns/turn-paths.ts';
import { connect } from '../support/websocket.ts';
import type { Traced } from './trace.ts';

export interface WalkedTurn extends Traced {
  readonly name: string;
  readonly title: string;
}

export const TURNS = ['json', 'sse', 'chat', 'websocket'] as const;

export async function withTurns<Result>(work: (turns: readonly WalkedTurn[]) => Promise<Result>): Promise<Result> {
  // The clock does not advance, because a trace is slow: what turns do once in a while, such as a sample of the load, is not counted.
  const now = Date.now();
  await using gate = await startGateway({ clock: { now: () => now, wallTime: () => now, after: systemClock.after } });
  const socket = await connect(gate, NATIVE_SOCKET);
  const post = async (path: string, body: unknown): Promise<void> => {
    const { status, text } = await gate.send(path, { body });
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  };
  /** Pins are written some turns of the event loop after their turn, rows with the next flush. */
  const settled = async (): Promise<void> => {
    for (let i = 0; i < 20; i++) await setImmediate();
    await gate.rows();
  };
  const turns: readonly Omit<WalkedTurn, 'settled'>[] = [
    { name: 'json', title: 'A JSON turn (`POST /v1/responses`)', run: () => post('/v1/responses', turnBody('hi', { stream: false })) },
    {
      name: 'sse',
      title: 'A stream (`POST /backend-api/agent/responses`)',
      run: () => post('/backend-api/agent/responses', turnBody('hi', { stream: true })),
    },
    { name: 'chat', title: 'A Chat stream (`POST /v1/chat/completions`)', run: () => post(CHAT, turnOn(CHAT, 'hi', { stream: true })) },
    {
      name: 'websocket',
      title: 'A frame (`WS /backend-api/agent/responses`)',
      run: async () => {
        await socket.turn(frameOf('hi'));
      },
    },
  ];
  const result = await work(turns.map((turn) => ({ ...turn, settled })));
  socket.close();
  return result;
}
