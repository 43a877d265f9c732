// The weak ETag of a model list: equal bodies give equal tags, on every node and after every restart (A1, Q14).
import { hash } from 'node:crypto';

/** @param canonical what `canonicalJson` made of the policy-visible body */
export const weakEtag = (canonical: string): string => `W/"${hash('sha256', canonical, 'hex')}"`;
