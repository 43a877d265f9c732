// Canonical JSON, and the weak ETag over it: equal bodies give equal bytes, on every node and after every restart (A1, Q14).
import { hash } from 'node:crypto';
import type { Json } from '../turn/turn.ts';

/** JSON with members sorted by UTF-16 code units at every depth, and no white space. Members that are undefined are left out. */
export function canonicalJson(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members: string[] = [];
  for (const name of Object.keys(value).sort()) {
    const member = value[name];
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${canonicalJson(member)}`);
  }
  return `{${members.join(',')}}`;
}

/** @param canonical what `canonicalJson` made of the policy-visible body */
export const weakEtag = (canonical: string): string => `W/"${hash('sha256', canonical, 'hex')}"`;

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);
