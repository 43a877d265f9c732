// The bearer token of a request's Authorization header.
import type { Headers } from '../turn.ts';

/** One token: a repeated header arrives joined by a comma, which does not match. */
const BEARER = /^bearer +([^\s,]+) *$/i;

export const bearerToken = ({ authorization }: Headers): string | undefined => BEARER.exec(authorization ?? '')?.[1];
