// Buys with a stock client. Usage: node pay.mjs VERSION RPC KEY SELLER TOKEN URL... For each address it writes a line of JSON: what was
// answered, how the balances of buyer and seller moved, in micro-dollars, and what the Bazaar's validator finds wrong with the offer.
import { ExactEvmScheme } from '@x402/evm';
import { validateDiscoveryExtension } from '@x402/extensions/bazaar';
import { wrapFetchWithPaymentFromConfig } from '@x402/fetch';
import { createPublicClient, createWalletClient, erc20Abi, http } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { baseSepolia } from 'viem/chains';
import { wrapFetchWithPayment } from 'x402-fetch';

const [version, rpc, key, seller, token, ...urls] = process.argv.slice(2);
const account = privateKeyToAccount(key);
const chain = createPublicClient({ chain: baseSepolia, transport: http(rpc) });
const pay =
  version === '1'
    ? wrapFetchWithPayment(fetch, createWalletClient({ account, chain: baseSepolia, transport: http(rpc) }))
    : wrapFetchWithPaymentFromConfig(fetch, { schemes: [{ network: 'eip155:84532', client: new ExactEvmScheme(account) }] });
const balance = (of) => chain.readContract({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [of] });
const receipt = (header) => (header ? JSON.parse(Buffer.from(header, 'base64').toString()) : null);

// unlisted says why the Bazaar, the catalog of what is sold, would refuse an offer of version 2. It is empty if it takes the offer.
const unlisted = async (url) => {
  const offer = receipt((await fetch(url)).headers.get('PAYMENT-REQUIRED'));
  const { valid, errors } = validateDiscoveryExtension(offer.extensions.bazaar);
  return valid ? '' : errors.join('; ') || 'refused';
};

for (const url of urls) {
  const refused = await unlisted(url);
  const [had, sellerHad] = [await balance(account.address), await balance(seller)];
  const began = performance.now();
  const response = await pay(url, { method: 'GET' });
  const body = await response.text();
  const took = Math.round(performance.now() - began);
  const [has, sellerHas] = [await balance(account.address), await balance(seller)];
  console.log(
    JSON.stringify({
      url,
      status: response.status,
      body,
      took,
      refused,
      paid: Number(had - has),
      received: Number(sellerHas - sellerHad),
      receipts: [receipt(response.headers.get('X-PAYMENT-RESPONSE')), receipt(response.headers.get('PAYMENT-RESPONSE'))],
    }),
  );
}
