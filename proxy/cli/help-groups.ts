// The help of `poolgate` itself: the commands in groups, each with a few words. `poolgate COMMAND --help` has the details.
import type { Command } from 'commander';

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
