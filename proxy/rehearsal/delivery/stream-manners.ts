// The form of a stream over HTTP as the account's provider sends it (RB16).

import type { Manners } from '../account/manners.ts';
import type { Answer } from './answer.ts';

export function inManner(answer: Answer, { untypedStreams, openStreams }: Manners): Answer {
  const { 'content-type': _, ...untyped } = answer.headers;
  return { ...answer, ...(untypedStreams ? { headers: untyped } : {}), ...(openStreams ? { staysOpen: true } : {}) };
}
