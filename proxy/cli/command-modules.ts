// THE COMMANDS in the order of the help, each with its module. A command line loads only the module that it names.
import type { Command } from 'commander';
import type { Io } from './command.ts';

/** Adds a command to the program. */
export type AddCommands = (program: Command, io: Io) => void;

export const COMMAND_MODULES: Readonly<Record<string, () => Promise<AddCommands>>> = {
  serve: async () => (await import('./commands/serve-options.ts')).addServe,
  init: async () => (await import('./init/init-command.ts')).addInit,
  check: async () => (await import('./commands/check-command.ts')).addCheck,
  routes: async () => (await import('./commands/routes-command.ts')).addRoutes,
  explain: async () => (await import('./commands/explain-command.ts')).addExplain,
  diff: async () => (await import('./commands/gateway-commands.ts')).addDiff,
  reload: async () => (await import('./commands/gateway-commands.ts')).addReload,
  status: async () => (await import('./commands/status-command.ts')).addStatus,
  top: async () => (await import('./commands/status-command.ts')).addTop,
  requests: async () => (await import('./commands/requests-command.ts')).addRequests,
  usage: async () => (await import('./commands/usage-command.ts')).addUsage,
  health: async () => (await import('./commands/health-command.ts')).addHealth,
  doctor: async () => (await import('./commands/doctor-command.ts')).addDoctor,
  client: async () => (await import('./commands/client-command.ts')).addClient,
  record: async () => (await import('./recordings/record-command.ts')).addRecord,
  replay: async () => (await import('./recordings/replay-command.ts')).addReplay,
  key: async () => (await import('./edits/key-command.ts')).addKeyCommands,
  token: async () => (await import('./edits/token-command.ts')).addTokenCommands,
  account: async () => (await import('./commands/account-command.ts')).addAccountCommands,
  mode: async () => (await import('./edits/mode-command.ts')).addModeCommands,
  store: async () => (await import('./commands/store-command.ts')).addStoreCommands,
  completion: async () => (await import('./completion/completion-command.ts')).addCompletion,
};

/** The modules for a command line. All are needed for completion, help, and a word that is not a command. */
export function modulesFor(args: readonly string[]): Promise<readonly AddCommands[]> {
  const [name = ''] = args;
  const isAlone = name !== 'completion' && Object.hasOwn(COMMAND_MODULES, name);
  const named = Object.entries(COMMAND_MODULES).filter(([one]) => !isAlone || one === name);
  return Promise.all(named.map(([, load]) => load()));
}
