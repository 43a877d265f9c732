// THE LIST of calls on websockets.
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, userMessage } from '../../support/native-frames.ts';
import type { SocketCall } from './call.ts';

const anchored = (previous: string | undefined): Readonly<Record<string, string>> =>
  previous === undefined ? {} : { previous_response_id: previous };

const first = (): JsonObject => frameOf('é hello');
const next = (previous: string | undefined): JsonObject => frameOf('and again', anchored(previous));
const compaction = (previous: string | undefined): JsonObject => ({
  ...frameOf('', anchored(previous)),
  input: [userMessage('and again'), { type: 'compaction_trigger' }],
});

export const SOCKET_CALLS: readonly SocketCall[] = [
  { name: 'native socket', surface: 'native', path: NATIVE_SOCKET, frames: [first] },
  { name: 'native socket, two turns', surface: 'native', path: NATIVE_SOCKET, frames: [first, next] },
  { name: 'public socket', surface: 'public', path: PUBLIC_SOCKET, frames: [first] },
  { name: 'public socket, two turns', surface: 'public', path: PUBLIC_SOCKET, frames: [first, next] },
  { name: 'public socket, compaction', surface: 'public', path: PUBLIC_SOCKET, frames: [first, compaction] },
];
