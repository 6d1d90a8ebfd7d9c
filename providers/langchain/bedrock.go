package langchain

// bedrockBackend is Amazon Bedrock through Converse, which is one wire for the
// models of all makers. langchaingo's backend has a wire for each of six, of
// which only Anthropic's streams. The SDK of AWS is heavy: a build tag adds it.
func bedrockBackend() backend {
	return backend{
		Provider: Provider{
			Name: "bedrock", Title: "Amazon Bedrock",
			KeyVars: []string{"AWS_BEARER_TOKEN_BEDROCK"}, BaseVars: []string{"AWS_ENDPOINT_URL_BEDROCK_RUNTIME"},
			Settings: []Setting{
				{Name: "region", Vars: []string{"AWS_REGION", "AWS_DEFAULT_REGION"},
					Help: "where the models are, such as us-east-1; empty: that of the AWS configuration"},
				{Name: "profile", Vars: []string{"AWS_PROFILE"},
					Help: "the profile of the AWS configuration that counts, where no key is given"},
			},
			Streams: true,
			Missing: bedrockMissing,
		},
		open:      openBedrock,
		api:       api{noSeed: true},
		oneSystem: true,
		noEmpty:   true,
		images:    imageData,
		ownKeys:   "Without a key, the credentials are AWS's usual ones: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, `aws sso login`, or the role of the machine.",
	}
}
