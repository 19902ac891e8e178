/** A server that has used git once, to be killed. Its argument is a bare repository. */
import { once } from 'node:events';
import { launchProgram } from '../src/delivery/git/launcher.ts';

const [, , cwd = ''] = process.argv;
const program = await launchProgram({
  words: ['git', 'cat-file', '--batch'],
  cwd,
  env: { PATH: process.env.PATH ?? '' },
  user: undefined,
  niceness: 0,
});
process.send?.('started');
await once(program.stdout, 'close');
