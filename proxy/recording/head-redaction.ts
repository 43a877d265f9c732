// Redacts the path and the headers of a request or answer. Names are kept, and values only if they are on a safe list.
import { memberKind } from './member-kinds.ts';
import type { Redactor } from './redactor.ts';
import { isProtocolName, isProtocolText } from './vocabulary.ts';

/** Name and value, in the order and spelling in which they were sent. */
export type HeaderLine = readonly [name: string, value: string];

/** Headers whose values are made of protocol words. They describe the message, not an account. */
const SAFE = new Set(
  `accept accept-encoding cache-control connection content-encoding content-type expect keep-alive openai-beta originator
  sec-websocket-extensions transfer-encoding upgrade vary x-accel-buffering x-reasoning-included x-should-retry`.split(/\s+/),
);
/** Matches safe headers of native clients, whose names begin with `x-codex-`, `x-openai-` or `x-internal-`. */
const SAFE_NATIVE = /^x-[a-z-]+-(beta-features|plan-type|active-limit|rate-limit-reached-type|responses-lite)$/;
const NUMBER = new Set([
  'content-length',
  'retry-after',
  'openai-processing-ms',
  'age',
  'sec-websocket-version',
  'x-stainless-retry-count',
  'x-stainless-timeout',
]);
const NAME = /^[\w!#$%&'*+.^`|~-]{1,64}$/;

export function redactedHeaders(rawHeaders: readonly string[], redactor: Redactor): readonly HeaderLine[] {
  const lines: HeaderLine[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2);
    lines.push([NAME.test(name) ? name : redactor.memberName(name), headerValue(name.toLowerCase(), value, redactor)]);
  }
  return lines;
}

/** @param name in lower case */
function headerValue(name: string, value: string, redactor: Redactor): string {
  if (name === 'authorization') return credential(value, redactor);
  if (name === 'user-agent') return product(value, redactor);
  if (name === 'content-type') return mediaType(value, redactor);
  if (NUMBER.has(name)) return /^\d{1,12}(\.\d{1,3})?$/.test(value) ? value : redactor.text(value);
  if (SAFE.has(name) || SAFE_NATIVE.test(name)) return isProtocolText(value) || value === '*/*' ? value : redactor.text(value);
  const kind = memberKind(name);
  if (kind === 'text') return redactor.text(value);
  return String(redactor.member(name, value));
}

function credential(value: string, redactor: Redactor): string {
  const [, scheme, secret = ''] = /^(Bearer|Basic) +(.*)$/is.exec(value) ?? [];
  return scheme === undefined ? redactor.text(value) : `${scheme} <text:${secret.length}>`;
}

/** The first product of a user agent with its version, which providers and gateways read (RB2). */
function product(value: string, redactor: Redactor): string {
  const [, name = '', version = '', rest = ''] = /^([\w.-]+)\/(\d{1,4}(?:\.\d{1,4}){1,3})(.*)$/s.exec(value) ?? [];
  return isProtocolText(name) ? `${name}/${version}${redactor.text(rest)}` : redactor.text(value);
}

function mediaType(value: string, redactor: Redactor): string {
  const [, type = '', rest = ''] = /^([\w/+.-]+)(.*)$/s.exec(value) ?? [];
  if (!isProtocolText(type)) return redactor.text(value);
  if (rest === '' || isProtocolText(rest)) return value;
  const boundary = /^; *boundary=(.+)$/is.exec(rest)?.[1];
  return boundary === undefined ? `${type}${redactor.text(rest)}` : `${type}; boundary=<text:${boundary.length}>`;
}

/** A path with its query. Segments and query values that are not protocol words become ids. */
export function redactedPath(url: string, redactor: Redactor): string {
  const [path = '', query] = url.split(/\?(.*)/s, 2);
  const segment = (text: string): string => (text === '' || isProtocolText(text) ? text : redactor.id(text));
  const redacted = path.split('/').map(segment).join('/');
  return query === undefined
    ? redacted
    : `${redacted}?${query
        .split('&')
        .map((pair) => redactedPair(pair, redactor))
        .join('&')}`;
}

function redactedPair(pair: string, redactor: Redactor): string {
  const [name = '', value] = pair.split(/=(.*)/s, 2);
  const kept = isProtocolName(name) ? name : redactor.memberName(name);
  return value === undefined ? kept : `${kept}=${redactor.member(name, value)}`;
}
