/**
 * A Git host, which would be another machine: a separate process, whose work gives way to that of the measured
 * server. It answers each message with the address of an empty repository.
 */
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { commitFiles, type HostedOnHost, runGit, startGitHost } from '../packages/server/testing/git-host.ts';

const files = 40;
const fileBytes = 500_000;
const tags = 450;
const branches = 50;

/** 500 refs and 20 MB that do not compress. */
function fill({ folder }: HostedOnHost): void {
  for (let file = 0; file < files; file += 1)
    commitFiles(folder, { files: { [`data/${file}.bin`]: randomBytes(fileBytes) } });
  const head = runGit(folder, ['rev-parse', 'main']).trim();
  const refs = [
    ...Array.from({ length: tags }, (_, number) => `create refs/tags/v${number} ${head}\n`),
    ...Array.from({ length: branches - 1 }, (_, number) => `create refs/heads/b${number} ${head}\n`),
  ];
  runGit(folder, ['update-ref', '--stdin'], refs.join(''));
  runGit(folder, ['repack', '-adq']);
}

const host = await startGitHost();
const source = host.addRepository('source.git');
fill(source);
let targets: HostedOnHost[] = [];

/** `add`: another target. `clear`: the targets so far are removed. */
process.on('message', (expected) => {
  if (expected === 'clear') {
    for (const { folder } of targets) rmSync(folder, { recursive: true });
    targets = [];
    process.send?.('');
    return;
  }
  const target = host.addRepository(`target-${targets.length}-${Date.now()}.git`);
  targets.push(target);
  process.send?.(target.cloneUrl);
});
process.on('disconnect', () => void host.close().then(() => process.exit(0)));
process.send?.(source.cloneUrl);
