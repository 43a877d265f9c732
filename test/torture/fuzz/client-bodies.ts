// The bodies that fuzzing starts from: those in the list of calls, and those that native clients sent, with a model that the accounts have.
import { readdirSync, readFileSync } from 'node:fs';
import { recordedSessions, turnsOf } from '../../support/recorded.ts';
import type { HttpCall } from '../calls/call.ts';
import { HTTP_CALLS } from '../calls/http-calls.ts';
import { type Node, nodeOf } from './json-text.ts';

export interface ClientBody {
  readonly name: string;
  readonly tree: Node;
}

const FOLDER = new URL('../../fixtures/native/', import.meta.url);

/** The body with a model that the simulated accounts have. */
const withModel = (json: object): Node => nodeOf('model' in json ? { ...json, model: 'model-a' } : json);

/** Calls whose body is JSON. */
export const JSON_CALLS: readonly HttpCall[] = HTTP_CALLS.filter(({ headers }) => headers['content-type'] === 'application/json');

export const ownBody = ({ name, body }: HttpCall): ClientBody => ({ name, tree: nodeOf(JSON.parse(body.toString())) });

/** The bodies of recorded native turns, from requests and frames, without the type of a frame. */
export function recordedBodies(): readonly ClientBody[] {
  const fixtures = readdirSync(FOLDER).map((file) => {
    const { body } = JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as { readonly body: object };
    return { name: file, json: body };
  });
  const sessions = recordedSessions().flatMap(({ name, requests }) =>
    requests.flatMap((request, i) => [
      ...(request.body ? [{ name: `${name} ${i}`, json: request.body }] : []),
      ...turnsOf(request).map(({ asked }, turn) => ({ name: `${name} ${i}.${turn}`, json: asked })),
    ]),
  );
  return [...fixtures, ...sessions].map(({ name, json }) => ({ name, tree: withModel(json) }));
}
