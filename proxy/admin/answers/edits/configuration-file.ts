// GET /api/config: the configuration file without its private values, its findings, and the changes that a reload would make.
import { versionOf } from '../../../config/config-diff.ts';
import { editsOff } from '../../../config/file/edits-off.ts';
import { redactedText } from '../../../config/file/redacted-text.ts';
import { inBackground } from '../../../config/loading/background.ts';
import { readConfig } from '../../../config/loading/load.ts';
import { ConfigError } from '../../../config/schema/finding.ts';
import type { AdminTarget } from '../../admin-target.ts';
import { type Endpoint, endpoint } from '../../api/endpoint.ts';
import { CONFIGURATION_FILE, type ConfigurationFileReply } from '../../replies/edit-replies.ts';

export const configurationFile = (gateway: AdminTarget): Endpoint =>
  endpoint({
    name: 'GET /api/config',
    summary:
      'The configuration file without its private values, its findings, and what a reload would change; `poolgate diff` prints that.',
    need: 'whole',
    ofFile: true,
    reply: CONFIGURATION_FILE,
    answer: () => shown(gateway),
  });

async function shown({ follower, loaded: { config, path } }: AdminTarget): Promise<ConfigurationFileReply> {
  const [off, text, next] = await Promise.all([editsOff(path), textOf(path), follower.preview().catch(findingsOf)]);
  const version = versionOf(config);
  const file = { path, version, text: text ?? null, edits: { off: off ?? null } };
  if ('findings' in next) return { ...file, file_version: null, findings: next.findings, changes: null };
  const { file_version, changes, warnings } = next;
  return { ...file, file_version, findings: warnings, changes };
}

/** The text. Undefined if the file cannot be read or parsed, for which the findings have the reason. */
const textOf = (path: string): Promise<string | undefined> =>
  inBackground(path, { name: 'redact', input: { path } }, async () => redactedText(await readConfig(path))).catch((thrown: unknown) => {
    if (thrown instanceof ConfigError) return undefined;
    throw thrown;
  });

function findingsOf(thrown: unknown): Pick<ConfigError, 'findings'> {
  if (thrown instanceof ConfigError) return { findings: thrown.findings };
  throw thrown;
}
