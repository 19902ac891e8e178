import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RaisedAlert, renderAlertMail } from './mail-text.ts';

function makeAlert(pipelineName: string, name = 'rule'): RaisedAlert {
  const about = {
    ...{ alert_rule_id: 'rule', project_id: 'project', name, condition_type: 'FAILED', emails: [] },
    ...{ environment_name: 'prod', pipeline_name: pipelineName, schedule_id: null, execution_id: 'run' },
    ...{ schedule_tick: null, problem_since: null, schedule_name: null },
  } as unknown as RaisedAlert['about'];
  return { alertId: 'alert', reason: 'It failed.', about };
}
const place = { publicUrl: 'https://headgate.example.com', projectName: 'P', now: new Date(0) };
const render = (...alerts: RaisedAlert[]) => renderAlertMail(alerts, place);

test('a subject is one line in which no mail program finds a link', () => {
  assert.equal(
    render(makeAlert('loads/Nightly load.orch.yaml')).subject,
    '[Headgate] Nightly load failed in prod',
  );
  for (const name of [
    'www.evil.example',
    'http:evil.example',
    'a@evil.example',
    'x\r\nBcc: a@b.example',
    '\u202eevil.example',
  ]) {
    const { subject } = render(makeAlert(name));
    assert.doesNotMatch(subject, /\w[.:@]\S|[\r\n\u202e]/, subject);
  }
});

test('a mail about a budget names the project', () => {
  const { about, ...alert } = makeAlert('');
  const ofProject = {
    environment_name: null,
    pipeline_name: null,
    execution_id: null,
    condition_type: 'BUDGET',
  };
  const { subject, text } = render({ ...alert, about: { ...about, ...ofProject } as typeof about });
  assert.equal(subject, '[Headgate] P spends its budget');
  assert.doesNotMatch(text, /^(Environment|Pipeline|Execution)/m);
});

test('a mail is bounded, however many rules and long names it has', () => {
  const alerts = Array.from({ length: 1_000 }, (_, each) => ({
    ...makeAlert('p'.repeat(5_000), `${each} ${'n'.repeat(5_000)}`),
    reason: `${each} ${'r'.repeat(990)}`,
  }));
  const { subject, text } = render(...alerts);
  assert.ok(subject.length <= 200 && text.length < 30_000, `${text.length}`);
  assert.match(text, /^Further alert rules: 950$/m);
});
