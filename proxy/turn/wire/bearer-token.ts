// The bearer token of a request's Authorization header.
import type { Headers } from '../turn.ts';

/** Matches one token. A repeated header arrives joined with a comma, and does not match. */
const BEARER = /^bearer +([^\s,]+) *$/i;

export const bearerToken = ({ authorization }: Headers): string | undefined => BEARER.exec(authorization ?? '')?.[1];
