import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createFolders } from './folders.ts';
import { removeUnfinishedFiles } from './unfinished-files.ts';

const root = mkdtempSync(join(tmpdir(), 'headgate-unfinished-'));
after(() => rmSync(root, { recursive: true }));

test('what was not finished is removed at the start, and nothing else', async () => {
  const folders = createFolders(root);
  await removeUnfinishedFiles(folders);
  const place = folders.files({ projectId: randomUUID(), environmentName: 'dev' });
  mkdirSync(join(place, 'in'), { recursive: true });
  for (const name of [`.${randomUUID()}.partial`, 'a.csv', '.mine.partial', 'in/b.csv'])
    writeFileSync(join(place, name), 'x');
  await removeUnfinishedFiles(folders);
  assert.deepEqual(readdirSync(place).sort(), ['.mine.partial', 'a.csv', 'in']);
});
