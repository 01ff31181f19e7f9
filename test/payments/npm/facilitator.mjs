// A facilitator made of the published library, as its documentation shows. Usage: node facilitator.mjs RPC KEY. It writes its address.
import { createServer } from 'node:http';

import { x402Facilitator } from '@x402/core/facilitator';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { registerExactEvmScheme } from '@x402/evm/exact/facilitator';
import { createWalletClient, http, publicActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { baseSepolia } from 'viem/chains';

const [rpc, key] = process.argv.slice(2);
const account = privateKeyToAccount(key);
const client = createWalletClient({ account, chain: baseSepolia, transport: http(rpc), pollingInterval: 100 }).extend(publicActions);
const signer = toFacilitatorEvmSigner({
  address: account.address,
  readContract: (a) => client.readContract(a),
  verifyTypedData: (a) => client.verifyTypedData(a),
  writeContract: (a) => client.writeContract(a),
  sendTransaction: (a) => client.sendTransaction(a),
  waitForTransactionReceipt: (a) => client.waitForTransactionReceipt(a),
  getCode: (a) => client.getCode(a),
});
const facilitator = new x402Facilitator();
registerExactEvmScheme(facilitator, { signer, networks: 'eip155:84532' });

const server = createServer(async (request, response) => {
  const reply = (status, body) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  try {
    if (request.url === '/supported') return reply(200, facilitator.getSupported());
    let text = '';
    for await (const chunk of request) text += chunk;
    const { paymentPayload, paymentRequirements } = JSON.parse(text);
    if (request.url === '/verify') return reply(200, await facilitator.verify(paymentPayload, paymentRequirements));
    if (request.url === '/settle') return reply(200, await facilitator.settle(paymentPayload, paymentRequirements));
    return reply(404, { error: 'not found' });
  } catch (error) {
    console.error(error);
    return reply(500, { error: String(error) });
  }
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
