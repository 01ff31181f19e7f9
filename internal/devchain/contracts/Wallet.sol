// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Development contract wallet of one owner: it signs by ERC-1271 and sends what its owner tells it to, also several calls in one
/// transaction. It is written for this project and is not for a chain that holds value.
contract Wallet {
    address public immutable owner;

    constructor(address owner_) payable {
        owner = owner_;
    }

    receive() external payable {}

    function execute(address[] calldata targets, bytes[] calldata calls) external payable {
        require(msg.sender == owner, "only the owner");
        for (uint256 i; i < targets.length; i++) {
            (bool ok, bytes memory answer) = targets[i].call(calls[i]);
            if (!ok) {
                assembly {
                    revert(add(answer, 32), mload(answer))
                }
            }
        }
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 65) return 0xffffffff;
        address signer = ecrecover(hash, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64]));
        return signer == owner && signer != address(0) ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
    }
}
