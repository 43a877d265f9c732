// Replaces names and call ids of tools that the other side would refuse. The replacement is always the same (AM43, AM44).
import { createHash } from 'node:crypto';

const hexOf = (text: string, digits: number): string => createHash('sha256').update(text).digest('hex').slice(0, digits);

const MAX_NAME = 64;
const NAME_START = 55;
const NAME_DIGITS = 8;

/** The name of a tool for an account. It is the same in every turn, because it is part of the prompt cache. */
export const upstreamToolName = (name: string): string =>
  name.length <= MAX_NAME ? name : `${name.slice(0, NAME_START)}_${hexOf(name, NAME_DIGITS)}`;

const CALL_ID = /^[A-Za-z0-9_-]{1,64}$/;
const ID_DIGITS = 24;

/** A call id that both sides accept. An id always maps to the same value, in calls and in results. */
export const toolUseId = (id: string): string => (CALL_ID.test(id) ? id : `toolu_${hexOf(id, ID_DIGITS)}`);
