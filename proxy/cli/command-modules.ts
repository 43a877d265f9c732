// THE COMMANDS, each with its module and its words in the help. A command line loads only the module that it names.
import type { Command } from 'commander';
import type { Io } from './command.ts';

/** Adds a command to the program. */
export type AddCommands = (program: Command, io: Io) => void;

const COMMAND_MODULES: Readonly<Record<string, () => Promise<AddCommands>>> = {
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

const GROUPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Start:': {
    init: 'write a first configuration file, with a key',
    serve: 'run the gateway; --demo: on simulated accounts, without a file',
  },
  'Accounts and keys:': {
    account: 'add, import, login, test, list, pause, resume, restore, relogin',
    key: 'create, rotate, pause, resume, revoke, list Pool API keys',
    token: "create, revoke, list operators' tokens",
    client: 'the settings of a client for this gateway',
  },
  'Configuration:': {
    check: 'errors and warnings of the file, with their lines',
    explain: 'what happens to a request, rule by rule',
    routes: 'every route with its status',
    mode: 'set serving modes',
    diff: 'what a reload would change',
    reload: 'make the running gateway read its file again',
  },
  'The running gateway:': {
    status: 'accounts, quota, Pools and counters',
    top: 'the same, refreshed',
    requests: 'the request log',
    usage: 'requests, tokens and cost by key, model, account, day',
    health: 'whether it runs, for containers and service managers',
    doctor: 'what is wrong, and what to do about it',
  },
  'Tools:': {
    store: 'work with the database',
    record: 'record a conversation with an account, without its content',
    replay: 'play recordings through a gateway',
    completion: 'completion of commands for bash, zsh and fish',
  },
};

/** The help of `poolgate` itself: the commands in groups, each with a few words. `poolgate COMMAND --help` has the details. */
export function groupHelp(program: Command): void {
  for (const [group, commands] of Object.entries(GROUPS)) {
    for (const [name, summary] of Object.entries(commands)) {
      program.commands
        .find((command) => command.name() === name)
        ?.helpGroup(group)
        .summary(summary);
    }
  }
  program.helpCommand(false);
  // Set last, so that the other commands do not inherit it.
  program.configureHelp({ subcommandTerm: (command) => command.name() });
}
