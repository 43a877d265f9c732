// Finds the listeners of the gateway of a file, even if the file has errors elsewhere. A running gateway keeps its listeners until a
// restart.
import { isNode } from 'yaml';
import type { Config } from '../config.ts';
import { ConfigError } from '../schema/finding.ts';
import { validate } from '../schema/validate.ts';
import { locate } from './positions.ts';
import { type Parsed, parseYaml } from './yaml.ts';

const LISTENERS = ['listen', 'admin', 'metrics'] as const;

type Listeners = Pick<Config, (typeof LISTENERS)[number]>;

/** @param path the name of the file in findings @throws ConfigError with the errors in these settings */
export async function listenersIn(text: string, path: string): Promise<Listeners> {
  const parsed = parseYaml(text, path);
  const listeners = Object.fromEntries(LISTENERS.map((name) => [name, settingOf(parsed.document, name)]));
  const data = { accounts: [], pools: [], ...listeners };
  const problems = (await validate(data)).filter((problem) => LISTENERS.some((name) => problem.path[0] === name));
  if (problems.length > 0) throw new ConfigError(locate(problems, { parsed, data, file: path }));
  return data as unknown as Listeners;
}

/** The setting. Undefined, for which the default is used, if the file has none, or if a syntax error prevents reading it. */
function settingOf(document: Parsed['document'], name: string): unknown {
  try {
    const node = document.get(name, true);
    return isNode(node) ? node.toJS(document) : undefined;
  } catch {
    return undefined;
  }
}
