// The version of Node against the oldest one that runs poolgate.
import type { Diagnosis } from './diagnosis.ts';

/** As in scripts/setup.mjs, which a container does not have. */
export const OLDEST_NODE = '24.9.0';

/** @param version as in `v24.9.0` */
export function nodeDiagnosis(version: string): Diagnosis {
  if (version.replace(/^v/, '').localeCompare(OLDEST_NODE, 'en', { numeric: true }) >= 0) {
    return { check: 'node.js', level: 'ok', message: `Node is ${version}.` };
  }
  return {
    check: 'node.js',
    level: 'problem',
    message: `Node is ${version}; the gateway needs ${OLDEST_NODE} or newer.`,
    advice: 'Start it with `npm start` or `npx poolgate`, which install a Node of their own, or install Node 24.',
  };
}
