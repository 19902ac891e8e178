/**
 * AWS Secrets Manager, as far as the agent uses it. Signature Version 4 is verified by its specification,
 * without the SDK.
 */
import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { listenOnLoopback } from '@headgate/contract/testing/loopback-server';

export const awsCredential = { accessKeyId: 'AKIDHEADGATETEST', secretAccessKey: 'a test secret access key' };
const region = 'eu-north-1';

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest('hex');

/** Why the signature is invalid; undefined if it is valid. */
function signatureFault(request: IncomingMessage, body: Buffer): string | undefined {
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/secretsmanager\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;
  const match = form.exec(request.headers.authorization ?? '');
  if (match === null) return 'UnrecognizedClientException';
  const [, id, day = '', scopeRegion, signedHeaders = '', signature] = match;
  const time = String(request.headers['x-amz-date']);
  if (id !== awsCredential.accessKeyId) return 'UnrecognizedClientException';
  if (scopeRegion !== region || !time.startsWith(day)) return 'InvalidSignatureException';
  const headers = signedHeaders
    .split(';')
    .map((name) => `${name}:${String(request.headers[name]).trim()}\n`)
    .join('');
  if (!/(^|;)host(;|$)/.test(signedHeaders)) return 'InvalidSignatureException';
  const canonical = [request.method, request.url, '', headers, signedHeaders, sha256(body)].join('\n');
  const scope = `${day}/${region}/secretsmanager/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  let key = hmac(`AWS4${awsCredential.secretAccessKey}`, day);
  for (const part of [region, 'secretsmanager', 'aws4_request']) key = hmac(key, part);
  return hmac(key, text).toString('hex') === signature ? undefined : 'InvalidSignatureException';
}

export async function startFakeSecretsManager() {
  const secrets = new Map<string, { text: string; deleted: boolean }>();
  /** The errors of the next requests. The SDK retries some of them. */
  const failures: string[] = [];
  const arnOf = (name: string) => `arn:aws:secretsmanager:${region}:123456789012:secret:${name}-AbCdEf`;

  type Answer = { status: number; body: object };
  const failed = (type: string, message = 'as asked for'): Answer => ({
    status: type === 'InternalServiceError' ? 500 : 400,
    body: { __type: type, message },
  });
  const deleting =
    'You can’t perform this operation on the secret because it was marked for deletion.'.replace('’', "'");

  function act(action: string, { SecretId, Name, SecretString }: Record<string, string>): Answer {
    const name = SecretId ?? Name ?? '';
    const secret = secrets.get(name);
    const ok = (body: object = {}) => ({ status: 200, body: { ARN: arnOf(name), Name: name, ...body } });
    if (action === 'CreateSecret') {
      if (secret !== undefined) return failed('ResourceExistsException');
      secrets.set(name, { text: SecretString ?? '', deleted: false });
      return ok();
    }
    if (secret === undefined)
      return failed('ResourceNotFoundException', "Secrets Manager can't find the specified secret.");
    if (secret.deleted) return failed('InvalidRequestException', deleting);
    if (action === 'GetSecretValue') return ok({ SecretString: secret.text });
    if (action === 'PutSecretValue') secrets.set(name, { text: SecretString ?? '', deleted: false });
    if (action === 'DeleteSecret') secret.deleted = true;
    return ok();
  }

  const { origin, close } = await listenOnLoopback((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks);
      const fault = failures.shift() ?? signatureFault(request, body);
      const action = String(request.headers['x-amz-target']).replace('secretsmanager.', '');
      const answer =
        fault === undefined ? act(action, JSON.parse(body.toString())) : failed(fault, body.toString());
      response.writeHead(answer.status, { 'content-type': 'application/x-amz-json-1.1' });
      response.end(JSON.stringify(answer.body));
    })();
  });
  return {
    endpoint: origin,
    region,
    secrets,
    failures,
    close,
  };
}
