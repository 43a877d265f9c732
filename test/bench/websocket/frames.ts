// The frames of one turn as a provider sends them: deltas and the end of the turn.
import type { WebSocket } from 'ws';
import { COMPLETED } from '../wire.ts';

const delta = (number: number): string =>
  JSON.stringify({
    type: 'response.output_text.delta',
    sequence_number: number,
    output_index: 0,
    delta: `word number ${number} of the answer`,
  });

let responses = 0;

/** Sends all frames at once. @param count the number of frames, the last of which ends the turn */
export function framesOf(count: number): (socket: WebSocket) => void {
  const deltas = Array.from({ length: count - 1 }, (_, i) => delta(i));
  const completed = JSON.stringify({ type: 'response.completed', sequence_number: count - 1, response: COMPLETED });
  return (socket) => {
    for (const frame of deltas) socket.send(frame);
    socket.send(completed.replace(COMPLETED.id, `resp_${++responses}`));
  };
}
