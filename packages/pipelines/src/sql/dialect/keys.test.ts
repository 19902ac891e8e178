import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createComment, readKeys } from './keys.ts';

test('a comment of people that looks like the mark of a key is none', () => {
  const id = { kind: 'UNIQUE', columns: ['id'] } as const;
  const written = '[PRIMARY KEY] of the old system';
  assert.deepEqual(readKeys([{ column: 'id', comment: createComment('id', [], written) }]), []);
  assert.deepEqual(readKeys([{ column: 'id', comment: createComment('id', [id], written) }]), [id]);
  assert.equal(createComment('id', [], 'the number'), 'the number');
});
