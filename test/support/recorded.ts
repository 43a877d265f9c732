// Recorded sessions of native clients: their requests and frames in order. Long texts are cut, but shapes are complete.
import { readdirSync, readFileSync } from 'node:fs';
import type { JsonObject } from '../../proxy/turn/json/json.ts';

export interface RecordedFrame {
  readonly from: 'client' | 'account';
  readonly data: JsonObject;
}

export interface RecordedRequest {
  /** The method; `WS` for an upgrade. */
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: JsonObject;
  /** Absent for an accepted upgrade. */
  readonly answer?: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: { readonly models: readonly JsonObject[] };
    readonly events?: readonly JsonObject[];
  };
  /** The frames of an accepted upgrade. */
  readonly frames?: readonly RecordedFrame[];
}

export interface RecordedSession {
  readonly name: string;
  readonly requests: readonly RecordedRequest[];
  /** The models of the session's catalog. A session that was recorded without one has that of another session. */
  readonly models: readonly JsonObject[];
}

/** One turn of a recorded websocket: what its client sent, and the frames that answered it. */
export interface RecordedTurn {
  readonly asked: JsonObject;
  readonly answered: readonly JsonObject[];
}

const FOLDER = new URL('../fixtures/recorded/', import.meta.url);
const MAIN_MODEL = 'gpt-5.5';

/** The recorded sessions in the order of their names. */
export function recordedSessions(): readonly RecordedSession[] {
  const sessions = readdirSync(FOLDER)
    .sort()
    .map((file) => ({
      name: file.replace('.json', ''),
      requests: JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as readonly RecordedRequest[],
    }));
  const all = sessions.flatMap(({ requests }) => requests);
  return sessions.map((session) => ({
    ...session,
    models: [...session.requests, ...all].find(({ answer }) => answer?.body)?.answer?.body?.models ?? [],
  }));
}

export const hasWebsockets = ({ requests }: RecordedSession): boolean => requests.some(({ method }) => method === 'WS');

/** Whether the session's catalog serves its model in Lite. */
export const isLite = ({ models }: RecordedSession): boolean =>
  models.some(({ slug, use_responses_lite }) => slug === MAIN_MODEL && use_responses_lite === true);

export function turnsOf({ frames = [] }: RecordedRequest): readonly RecordedTurn[] {
  const turns: { readonly asked: JsonObject; readonly answered: JsonObject[] }[] = [];
  for (const { from, data } of frames) {
    if (from === 'client') turns.push({ asked: data, answered: [] });
    else turns.at(-1)?.answered.push(data);
  }
  return turns;
}
