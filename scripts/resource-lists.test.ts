/** The lists of resources: what is found in folders, and what a file must export. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { resourceLists } from './resource-lists.ts';

const checkout = mkdtempSync(join(tmpdir(), 'headgate-lists-'));
after(() => rmSync(checkout, { recursive: true, force: true }));

function writeSource(path: string, text: string): void {
  const file = join(checkout, 'packages', path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

test('a list has what the folders of the resources export, and no other file', () => {
  writeSource('contract/src/common.outcomes.ts', 'export const commonOutcomes = {};');
  writeSource('contract/src/agent-pool/agent-pool.outcomes.ts', 'export const agentPoolOutcomes = {};');
  writeSource('contract/src/agent-pool/agent-pool.ts', 'export const agentPoolOperations = [];');
  writeSource('contract/src/agent-pool/address.ts', 'export const Address = {};');
  writeSource('contract/src/agent-pool/address.test.ts', '');
  writeSource('contract/src/openapi/document.ts', 'export const documentOperations = [];');
  writeSource('server/src/workspace/agent-pools/index.ts', 'export const agentPools: Slice = {};');
  writeSource('server/src/workspace/agent-pools/agent-pool.guards.ts', 'export const agentPoolGuards = {};');
  writeSource('server/src/kernel/work/index.ts', 'export const work = {};');

  const lists = resourceLists(checkout);
  const codeOf = (path: string) => lists[`packages/${path}`]?.split('\n').slice(1).join('\n');
  assert.equal(
    codeOf('contract/src/outcomes.list.ts'),
    `import { commonOutcomes } from './common.outcomes.ts';
import { agentPoolOutcomes } from './agent-pool/agent-pool.outcomes.ts';

export const outcomeLists = [
  commonOutcomes,
  agentPoolOutcomes,
] as const;
`,
  );
  assert.equal(
    codeOf('contract/src/resources.list.ts'),
    `import { agentPoolOperations } from './agent-pool/agent-pool.ts';

export * from './agent-pool/agent-pool.ts';
export * from './agent-pool/address.ts';

export const operationLists = [
  agentPoolOperations,
] as const;
`,
  );
  assert.equal(
    codeOf('server/src/main/slices.list.ts'),
    `import { agentPools } from '../workspace/agent-pools/index.ts';

export const slices = [
  agentPools,
] as const;
`,
  );
  assert.equal(
    codeOf('server/testing/guards.list.ts'),
    `import { agentPoolGuards } from '../src/workspace/agent-pools/agent-pool.guards.ts';

export const guards = [
  agentPoolGuards,
] as const;
`,
  );
});

test('a slice without the export that its folder names is an error', () => {
  writeSource('server/src/records/audit-logs/index.ts', 'export const logs = {};');
  assert.throws(
    () => resourceLists(checkout),
    /^Error: packages\/server\/src\/records\/audit-logs\/index\.ts must export a constant auditLogs$/,
  );
});
