// Where the gateway of a file listens, also where the file has errors elsewhere: one that runs keeps its listeners until a restart.
import type { Config } from './config.ts';
import { ConfigError } from './finding.ts';
import { locate } from './positions.ts';
import { validate } from './validate.ts';
import { parseYaml } from './yaml.ts';

const LISTENERS = ['listen', 'admin', 'metrics'] as const;

/**
 * @param path names the file in findings
 * @throws ConfigError with the errors of these settings
 */
export function listenersIn(text: string, path: string): Pick<Config, (typeof LISTENERS)[number]> {
  const parsed = parseYaml(text, path);
  if (!parsed.readable) throw new ConfigError(parsed.findings);
  const data = parsed.document.toJS() as Config;
  const problems = validate(data).filter((problem) => LISTENERS.some((name) => problem.path[0] === name));
  if (problems.length > 0) throw new ConfigError(locate(problems, { parsed, data, file: path }));
  return data;
}
