/** `lockctl completion bash|zsh`: what a shell needs to complete command lines, made from the commands that there are. */

import type { Command } from 'commander';
import type { Environment } from '../environment.ts';
import { UsageFailure } from '../failure.ts';

const SHELLS = ['bash', 'zsh'];
/** What may follow an option that takes one of a few words. */
const VALUES = `case "$previous" in --mode) WORDS='exclusive read write semaphore=' ;; --then) WORDS='revoke leave' ;; esac`;
/** Options of lockctl itself, which every command takes. */
const GLOBAL = ['--servers', '--json', '--timeout'];
const HELP = `
bash:  eval "$(lockctl completion bash)"         in ~/.bashrc
zsh:   source <(lockctl completion zsh)          in ~/.zshrc, after compinit`;

/** Called when all other commands are there. */
export function addCompletion(program: Command, outside: Environment): void {
  program
    .command('completion')
    .description('prints a script that makes a shell complete the commands and options of lockctl')
    .argument('<shell>', 'bash or zsh')
    .addHelpText('after', HELP)
    .action((shell: string) => {
      if (!SHELLS.includes(shell))
        throw new UsageFailure(`there is no completion for "${shell}"; it is for bash or zsh`);
      const words = wordsOf(program);
      outside.writeOut(shell === 'bash' ? bashScript(words) : zshScript(words));
    });
}

/** What may follow a line that begins so: by the commands typed, '' for none. */
function wordsOf(program: Command): ReadonlyMap<string, readonly string[]> {
  const words = new Map<string, readonly string[]>();
  const visit = (command: Command, path: readonly string[]): void => {
    const own = command.options.flatMap(({ short, long }) => [short, long]).filter((flag) => flag !== undefined);
    const below = command.commands.map((each) => each.name());
    const shells = command.name() === 'completion' ? SHELLS : [];
    const everywhere = path.length === 0 ? ['--version'] : GLOBAL;
    words.set(path.join(' '), [...below, ...shells, ...own, ...everywhere, '--help']);
    for (const each of command.commands) visit(each, [...path, each.name()]);
  };
  visit(program, []);
  return words;
}

/** Words are letters, digits and dashes: nothing needs quoting within the quotes. */
function cases(words: ReadonlyMap<string, readonly string[]>): string {
  return [...words].map(([path, next]) => `    '${path}') words='${next.join(' ')}' ;;\n`).join('');
}

/** Options and their values before a command are passed over; behind "--" it is the command's own affair. */
const WALK = `    case "$word" in
      --) return ;;
      --servers|--timeout) skip=1 ;;
      -*) ;;
      *) case "$known" in *"|\${path:+$path }$word|"*) path="\${path:+$path }$word" ;; esac ;;
    esac
`;

function known(words: ReadonlyMap<string, readonly string[]>): string {
  return `|${[...words.keys()].filter((path) => path !== '').join('|')}|`;
}

function bashScript(words: ReadonlyMap<string, readonly string[]>): string {
  return `# Completion of lockctl for bash.
_lockctl() {
  local word path='' words='' skip=0 previous="\${COMP_WORDS[COMP_CWORD-1]}" known='${known(words)}'
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [ "$skip" = 1 ]; then skip=0; continue; fi
${WALK}  done
  case "$path" in
${cases(words)}  esac
  ${VALUES.replaceAll('WORDS', 'words')}
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _lockctl lockctl
`;
}

function zshScript(words: ReadonlyMap<string, readonly string[]>): string {
  return `#compdef lockctl
# Completion of lockctl for zsh.
_lockctl() {
  local word path_='' next='' skip=0 previous="\${words[CURRENT-1]}" known='${known(words)}'
  for word in "\${words[@]:1:$((CURRENT - 2))}"; do
    if [ "$skip" = 1 ]; then skip=0; continue; fi
${WALK.replaceAll('path', 'path_')}  done
  case "$path_" in
${cases(words).replaceAll("words='", "next='")}  esac
  ${VALUES.replaceAll('WORDS', 'next')}
  compadd -- \${=next}
}
compdef _lockctl lockctl
`;
}
